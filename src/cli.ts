#!/usr/bin/env node
import { createProgram } from "./commands/create-program.ts";
import { runProgram } from "./commands/run-program.ts";

await runProgram(createProgram(), process.argv);
