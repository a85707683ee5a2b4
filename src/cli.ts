#!/usr/bin/env node

// Claude Desktop passes `PALIMPSEST_ARCHIVE=${user_config.archive_folder}` literally if that setting is empty.
for (const [name, value] of Object.entries(process.env)) {
	if (name.startsWith("PALIMPSEST_") && /^\$\{[^{}]*\}$/.test(value ?? "")) delete process.env[name];
}
const parameters = process.argv.slice(2);
// A host waits for its hooks with every tool call, and for a server with every start: neither loads the code of the other.
const isAnswered =
	(parameters[0] === "hook" && (await (await import("./commands/hook.ts")).answerHookCall(parameters))) ||
	(parameters[0] === "statusline" && (await (await import("./commands/statusline.ts")).answerStatusline(parameters)));
if (!isAnswered) {
	const { createProgram } = await import("./commands/program.ts");
	const { runProgram } = await import("./commands/usage.ts");
	await runProgram(createProgram(), process.argv);
}
