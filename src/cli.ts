#!/usr/bin/env node
import { dropUnfilledSettings } from "./config/environment.ts";

dropUnfilledSettings(process.env);
const parameters = process.argv.slice(2);
// A host waits for its hooks with every tool call, and for a server with every start: neither loads the code of the other.
const isAnswered = parameters[0] === "hook" && (await (await import("./commands/hook.ts")).answerHookCall(parameters));
if (!isAnswered) {
	const { createProgram } = await import("./commands/program.ts");
	const { runProgram } = await import("./commands/usage.ts");
	await runProgram(createProgram(), process.argv);
}
