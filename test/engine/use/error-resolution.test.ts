import { describe, expect, it } from "vitest";
import { findErrors } from "../../../src/engine/use/error-resolution.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";
import { bash, type Called, called, edit, read } from "./called.ts";

/** For each call its rule and the later call that settled it; `undefined` for what is no error. */
const errorsOf = (...all: Called[]) =>
	findErrors(transcriptOf(...called(...all))).map(
		(one) => one && [one.rule, one.resolvedFrom === undefined ? undefined : (one.resolvedFrom - 1) / 2],
	);
const failed = (one: Called): Called => ({ ...one, text: "Exit code 1\nno" });

describe("findErrors", () => {
	it("finds an error settled by the same call", () => {
		expect(errorsOf(failed(bash("ls /x y")), bash("pwd"), bash("ls /x y"), bash("ls /x y"))).toEqual([
			["exit_code", 2],
			undefined,
			undefined,
			undefined,
		]);
	});

	it("finds one settled by the same command with other arguments, in the same folder", () => {
		expect(errorsOf(failed(bash("npm test -- a")), bash("npm run lint"), bash("npm test"))[0]).toEqual([
			"exit_code",
			2,
		]);
		expect(errorsOf(failed(bash("cd /a && npm test")), bash("cd /b && npm test"))[0]).toEqual(["exit_code", undefined]);
		expect(errorsOf(failed(bash("python -c 'a'")), bash("python -c 'b'"))[0]).toEqual(["exit_code", undefined]);
	});

	it("finds one settled by an edit or a read of the same file", () => {
		const refused = { ...edit("/a"), isError: true };
		expect(errorsOf(refused, refused, read("/a"), edit("/b"), edit("/a", "done"))).toEqual([
			["flag", 4],
			["flag", 4],
			undefined,
			undefined,
			undefined,
		]);
		expect(errorsOf({ ...read("/a"), text: "File not found" }, read("/b"), read("./a"))[0]).toEqual([
			"error_message",
			undefined,
		]);
	});

	it("settles nothing by another failure, nor before the error", () => {
		expect(errorsOf(bash("npm test"), failed(bash("npm test")), failed(bash("npm test")))).toEqual([
			undefined,
			["exit_code", undefined],
			["exit_code", undefined],
		]);
	});

	it("finds the error of an orphan, which nothing settles", () => {
		const orphan = messageOf({ role: "tool", results: [resultOf("gone", "Error: no such user")] });
		expect(findErrors(transcriptOf(orphan, orphan))).toEqual([
			{ rule: "error_message", resolvedFrom: undefined },
			{ rule: "error_message", resolvedFrom: undefined },
		]);
	});

	it("takes no error for settled by a result that came as a placeholder: that call may have failed too", () => {
		const tried = [failed(bash("npm test")), bash("npm test", "[masked]"), bash("npm test")];
		const settledBy = (...all: Called[]) =>
			findErrors(transcriptOf(...called(...all)), new Set([1])).map((one) => one?.resolvedFrom);
		expect(settledBy(...tried)).toEqual([5, undefined, undefined]);
		expect(settledBy(...tried.slice(0, 2))).toEqual([undefined, undefined]);
	});
});
