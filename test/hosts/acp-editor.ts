import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/**
 * An editor of the Agent Client Protocol: starts the command that follows the prompt, asks it once, allows what it asks for, and prints
 * its words. A line on the agent's standard output that is no message of the protocol ends the run, since an editor would fail on it.
 */
const [prompt = "", command = "", ...parameters] = process.argv.slice(2);
const agent = spawn(command, parameters, { stdio: ["pipe", "pipe", "inherit"] });
agent.on("exit", (code) => process.exit(code ?? 1));

type Message = Readonly<Record<string, unknown>>;

const open = new Map<number, (result: Message) => void>();
let words = "";

const write = (message: Message) => agent.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

function request(method: string, params: Message): Promise<Message> {
	const id = open.size + 1;
	write({ id, method, params });
	return new Promise((resolve) => open.set(id, resolve));
}

createInterface({ input: agent.stdout }).on("line", (line) => {
	let message: Message;
	try {
		message = JSON.parse(line) as Message;
	} catch {
		return end(`A line of the agent is no message: ${line.slice(0, 80)}`, 1);
	}
	const { id, method, params, result, error } = message as Readonly<Record<string, Message>>;
	if (error !== undefined) return end(JSON.stringify(error), 1);
	if (method === undefined) open.get(Number(id))?.(result ?? {});
	else if (String(method) === "session/request_permission") {
		const options = params?.options as unknown as readonly Readonly<Record<string, string>>[];
		const allowed = options.find(({ kind }) => kind?.startsWith("allow")) ?? options[0];
		write({ id, result: { outcome: { outcome: "selected", optionId: allowed?.optionId } } });
	} else if (id !== undefined) write({ id, error: { code: -32_601, message: `No ${String(method)} here.` } });
	const { sessionUpdate, content } = (params?.update ?? {}) as Readonly<Record<string, Message | undefined>>;
	if (String(sessionUpdate) === "agent_message_chunk") words += String(content?.text ?? "");
});

function end(text: string, code: number): void {
	process.stdout.write(`${text}\n`);
	agent.removeAllListeners("exit");
	agent.kill();
	process.exitCode = code;
}

const capabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
await request("initialize", { protocolVersion: 1, clientCapabilities: capabilities });
const { sessionId } = await request("session/new", { cwd: process.cwd(), mcpServers: [] });
await request("session/prompt", { sessionId, prompt: [{ type: "text", text: prompt }] });
end(words, 0);
