import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { constants } from "node:os";
import { expect, it } from "vitest";
import { exitCodeOfEnd, passSignals } from "../../src/commands/processes.ts";

const passedOn = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

it.each([
	["linux", passedOn],
	["darwin", passedOn],
	["win32", ["SIGINT", "SIGTERM", "SIGHUP"]],
] as const)("passes on the signals of %s", (platform, signals) => {
	const here = process.platform;
	const listened = () => passedOn.filter((signal) => process.listenerCount(signal) > 0);
	Object.defineProperty(process, "platform", { value: platform });
	const stop = passSignals(new EventEmitter() as ChildProcess);
	Object.defineProperty(process, "platform", { value: here });
	expect(listened()).toEqual(signals);
	stop();
	expect(listened()).toEqual([]);
});

it("ends with the code of the child process, or with 128 and the number of its signal", () => {
	expect(exitCodeOfEnd(3, null)).toBe(3);
	expect(exitCodeOfEnd(null, "SIGTERM")).toBe(128 + constants.signals.SIGTERM);
});
