import { constants } from "node:os";
import { expect, it } from "vitest";
import { exitCodeOfEnd, signalsOf } from "../../src/commands/processes.ts";

it.each([
	["linux", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]],
	["darwin", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]],
	["win32", ["SIGINT", "SIGTERM", "SIGHUP"]],
] as const)("passes on the signals of %s", (platform, signals) => {
	expect(signalsOf(platform)).toEqual(signals);
});

it("ends with the code of the child process, or with 128 and the number of its signal", () => {
	expect(exitCodeOfEnd(3, null)).toBe(3);
	expect(exitCodeOfEnd(null, "SIGTERM")).toBe(128 + constants.signals.SIGTERM);
});
