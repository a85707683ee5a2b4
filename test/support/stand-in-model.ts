import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that a stand-in for a model was sent, as JSON. */
export type ModelRequest = Readonly<Record<string, unknown>>;

/** A server in the place of a provider's: asks for twelve files one after the other, then answers. */
export interface StandInModel {
	readonly origin: string;
	readonly requests: readonly ModelRequest[];
	readonly close: () => void;
}

const finished = "All twelve files are read.";

/** Starts it. It speaks OpenAI's Chat Completions and Responses, and Anthropic's Messages. */
export async function startStandInModel(): Promise<StandInModel> {
	const requests: ModelRequest[] = [];
	const server = createServer(async (request, response) => {
		const body = await bodyOf(request);
		requests.push(JSON.parse(body));
		const [turn, prompt] = [requests.length, Math.ceil(body.length / 4)];
		const answer = request.url?.endsWith("/chat/completions")
			? chatCompletion(turn, prompt)
			: request.url?.endsWith("/responses")
				? openaiResponse(turn, prompt)
				: anthropicMessage(turn, prompt);
		response.setHeader("Content-Type", "application/json");
		response.end(JSON.stringify(answer));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	return { origin: `http://127.0.0.1:${port}`, requests, close: () => server.close() };
}

const call = (turn: number) => ({ id: `call_${turn}`, input: { path: `settings/file-${turn}.ts` } });
const isCall = (turn: number) => turn <= 12;

function chatCompletion(turn: number, prompt: number) {
	const { id, input } = call(turn);
	const asked = { id, type: "function", function: { name: "read_file", arguments: JSON.stringify(input) } };
	const message = isCall(turn)
		? { role: "assistant", content: null, tool_calls: [asked] }
		: { role: "assistant", content: finished };
	const finish_reason = isCall(turn) ? "tool_calls" : "stop";
	const usage = { prompt_tokens: prompt, completion_tokens: 1, total_tokens: prompt + 1 };
	const choices = [{ index: 0, message, finish_reason }];
	return { id: `answer_${turn}`, object: "chat.completion", created: 1, model: "gpt-4o", choices, usage };
}

function openaiResponse(turn: number, prompt: number) {
	const { id, input } = call(turn);
	const asked = { type: "function_call", id: `fc_${turn}`, call_id: id, name: "read_file", status: "completed" };
	const text = { type: "output_text", text: finished, annotations: [] };
	const output = isCall(turn)
		? { ...asked, arguments: JSON.stringify(input) }
		: { type: "message", id: `message_${turn}`, role: "assistant", status: "completed", content: [text] };
	const usage = { input_tokens: prompt, output_tokens: 1, total_tokens: prompt + 1 };
	return {
		id: `answer_${turn}`,
		object: "response",
		created_at: 1,
		model: "gpt-4o",
		status: "completed",
		output: [output],
		usage,
	};
}

function anthropicMessage(turn: number, prompt: number) {
	const { id, input } = call(turn);
	const content = isCall(turn)
		? [{ type: "tool_use", id: `toolu_${id}`, name: "read_file", input }]
		: [{ type: "text", text: finished }];
	const stop_reason = isCall(turn) ? "tool_use" : "end_turn";
	const usage = { input_tokens: prompt, output_tokens: 1 };
	return { id: `answer_${turn}`, type: "message", role: "assistant", model: "stand-in", content, stop_reason, usage };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk as Buffer);
	return Buffer.concat(chunks).toString("utf8");
}
