import { argumentsFor, callsIn, messagesOf, type ScriptedAnswer, shellTool, sideAnswer } from "./scripted-session.ts";
import type { startStandInProvider } from "./stand-in-provider.ts";

type Next = NonNullable<Parameters<typeof startStandInProvider>[0]["next"]>;

/**
 * A model that reads the files of a task one after the other, and writes the code of the first one to `answer.txt` if it still
 * sees it at the end, or a wrong one if not. Its prompt names the number of files.
 */
export const noteCode: Next = (_, api, body): ScriptedAnswer => {
	const tool = shellTool(api, body);
	if (tool === undefined) return { kind: "text", text: sideAnswer };
	const shown = JSON.stringify(messagesOf(api, body));
	const files = Number(/there are (\d+) files/.exec(shown)?.[1] ?? 0);
	const calls = callsIn(api, body).length;
	const run = (command: string): ScriptedAnswer => {
		return { kind: "call", turn: calls + 1, tool: tool.name, input: argumentsFor(tool.schema, command) };
	};
	if (calls < files) return run(`cat file-${calls + 1}.txt`);
	// A proxy plans beside the requests, which come at once here, and a busy machine takes its time.
	if (calls === files) return run("sleep 1");
	const code = /the code is (\w+)/.exec(shown)?.[1] ?? "unknown";
	return calls === files + 1 ? run(`printf %s ${code} > answer.txt`) : { kind: "text", text: "Done." };
};
