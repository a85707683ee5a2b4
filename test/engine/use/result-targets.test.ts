import { describe, expect, it } from "vitest";
import { resultTargets } from "../../../src/engine/use/result-targets.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";
import { bash, type Called, called, edit, read } from "./called.ts";

const pathsOf = (...all: Called[]) => resultTargets(transcriptOf(...called(...all))).map((target) => target.paths);

describe("resultTargets", () => {
	it("gives each result the target of its call", () => {
		const targets = resultTargets(transcriptOf(...called(read("/a.ts"), edit("/a.ts"), bash("npm test"))));
		expect(targets.map(({ kind }) => kind)).toEqual(["read", "write", "run"]);
		expect(targets[1]?.writes).toEqual(["/a.ts"]);
	});

	it("knows nothing of an orphan", () => {
		const orphan = messageOf({ role: "tool", results: [resultOf("gone")] });
		expect(resultTargets(transcriptOf(orphan))).toMatchObject([{ kind: "other", paths: [] }]);
	});

	it("takes relative paths for files of the folder that a command changed to", () => {
		expect(pathsOf(bash("cd /repo && ls"), read("src/a.ts"), read("/repo/src/a.ts"))).toEqual([
			[],
			["/repo/src/a.ts"],
			["/repo/src/a.ts"],
		]);
	});

	it("finds the folder by a relative path that ends an absolute one", () => {
		expect(pathsOf(read("/home/me/p/src/a.ts"), bash("cat src/a.ts README.md"))).toEqual([
			["/home/me/p/src/a.ts"],
			["/home/me/p/src/a.ts", "/home/me/p/README.md"],
		]);
	});

	it("does not guess where two files end alike, or by a name alone", () => {
		const twice = [read("/x/src/a.ts"), read("/y/src/a.ts"), bash("cat src/a.ts")];
		expect(pathsOf(...twice)[2]).toEqual(["src/a.ts"]);
		expect(pathsOf(read("/x/docs/README.md"), bash("cat README.md"))[1]).toEqual(["README.md"]);
	});

	it("follows the file that is open in SWE-agent's shell", () => {
		const targets = resultTargets(
			transcriptOf(...called(bash("open src/a.py 10"), bash("goto 90"), bash("edit 3:4\nx\nend_of_edit"), bash("ls"))),
		);
		expect(targets.map(({ kind, paths }) => [kind, ...paths])).toEqual([
			["read", "src/a.py"],
			["read", "src/a.py"],
			["write", "src/a.py"],
			["list"],
		]);
		expect(targets[2]?.writes).toEqual(["src/a.py"]);
		expect(resultTargets(transcriptOf(...called(bash("goto 90"))))[0]?.paths).toEqual([]);
	});
});
