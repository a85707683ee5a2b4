import type { Agent } from "node:http";
import { request as httpRequest } from "node:http";

/** What a tool answered. */
export interface ToolAnswer {
	readonly isError?: boolean;
	readonly content: readonly { readonly text?: string }[];
	readonly structuredContent?: Readonly<Record<string, unknown>>;
}

/** A call of a tool, to a server without sessions. */
export interface ToolCall {
	/** Such as `http://127.0.0.1:41234`. */
	readonly url: string;
	readonly tool: string;
	readonly parameters: Readonly<Record<string, unknown>>;
	readonly agent?: Agent;
}

/** Calls a tool with one request. Throws where there is no answer, or one that is no tool's. */
export async function callTool({ url, tool, parameters, agent }: ToolCall): Promise<ToolAnswer> {
	const body = JSON.stringify({
		jsonrpc: "2.0",
		id: 1,
		method: "tools/call",
		params: { name: tool, arguments: parameters },
	});
	const { status, text } = await post(`${url}/mcp`, body, agent);
	if (status !== 200) throw new Error(`HTTP ${status}`);
	// The answer is the last event of a stream; one that is cut short has none that can be read.
	const event = text
		.split("\n")
		.filter((line) => line.startsWith("data: {"))
		.at(-1);
	const { result, error } = JSON.parse(event?.slice("data: ".length) ?? "{}");
	if (result === undefined) throw new Error(error?.message ?? "no answer");
	return result;
}

function post(url: string, body: string, agent: Agent | undefined): Promise<{ status: number; text: string }> {
	return new Promise((resolve, reject) => {
		const headers = {
			"Content-Type": "application/json",
			Accept: "application/json, text/event-stream",
			"Content-Length": Buffer.byteLength(body),
		};
		const request = httpRequest(url, { method: "POST", headers, ...(agent && { agent }) }, (response) => {
			let text = "";
			response.setEncoding("utf8");
			response.on("data", (piece: string) => {
				text += piece;
			});
			response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
			response.on("error", reject);
		});
		// A process that is killed says nothing more; one that is stopped might never.
		request.setTimeout(20_000, () => request.destroy(new Error("no answer in 20 s")));
		request.on("error", reject);
		request.end(body);
	});
}
