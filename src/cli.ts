#!/usr/bin/env node
import { answerHookCall } from "./commands/hook-call.ts";
import { dropUnfilledSettings } from "./config/drop-unfilled-settings.ts";

dropUnfilledSettings(process.env);
if (!(await answerHookCall(process.argv.slice(2)))) {
	const [{ createProgram }, { runProgram }] = await Promise.all([
		import("./commands/create-program.ts"),
		import("./commands/run-program.ts"),
	]);
	await runProgram(createProgram(), process.argv);
}
