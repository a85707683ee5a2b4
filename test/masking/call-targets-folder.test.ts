import { describe, expect, it } from "vitest";
import { resolver, resultArguments } from "../../src/masking/call-targets.ts";
import { otherTarget } from "../../src/masking/targets.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";

const at = (...paths: readonly string[]) => ({ ...otherTarget, kind: "read" as const, paths });

/** The paths of the last of some targets, which a conversation has one behind the other. */
const last = (...targets: readonly (typeof otherTarget)[]) => targets.map(resolver()).at(-1)?.paths;

describe("the working folder", () => {
	it("is the first absolute folder of a command", () => {
		expect(last({ ...at(), folder: "/x" }, at("a"))).toEqual(["/x/a"]);
		expect(last({ ...at(), folder: "/x" }, { ...at(), folder: "/y" }, at("a", "/b", "~/c"))).toEqual([
			"/x/a",
			"/b",
			"~/c",
		]);
		expect(last({ ...at(), folder: "x" }, at("a"))).toEqual(["a"]);
		expect(last(at("a"))).toEqual(["a"]);
	});

	it("is learnt from an absolute path that ends with a relative one of two parts", () => {
		expect(last(at("/p/src/a.ts"), at("src/a.ts"), at("b"))).toEqual(["/p/b"]);
		expect(last(at("/p/src/a.ts"), at("src/a.ts"), at("/q/lib/b.ts"), at("lib/b.ts"), at("c"))).toEqual(["/p/c"]);
		expect(last(at("/p/src/a.ts", "src/a.ts"))).toEqual(["/p/src/a.ts", "/p/src/a.ts"]);
		expect(last(at("/p/a.ts"), at("a.ts"), at("b"))).toEqual(["b"]);
		expect(last(at("/p/../a.ts"), at("../a.ts"), at("b"))).toEqual(["b"]);
		expect(last(at("/p/xsrc/a.ts"), at("src/a.ts"), at("b"))).toEqual(["b"]);
		expect(last(at("/src/a.ts"), at("src/a.ts"), at("b"))).toEqual(["b"]);
		expect(last(at("/p/src/a.ts"), at("/p/src/a.ts"), at("src/a.ts"), at("b"))).toEqual(["/p/b"]);
	});

	it("is not learnt from the seventeenth path with the same name", () => {
		const same = (count: number) => Array.from({ length: count }, (_, index) => at(`/p${index}/x/a.ts`));
		expect(last(...same(15), at("/q/src/a.ts"), at("src/a.ts"), at("b"))).toEqual(["/q/b"]);
		expect(last(...same(16), at("/q/src/a.ts"), at("src/a.ts"), at("b"))).toEqual(["b"]);
	});

	it("is joined to files read and written", () => {
		const target = { ...at("a"), reads: [{ path: "a", lines: "whole" as const }], writes: ["b"] };
		expect(resolver()({ ...target, folder: "/x" })).toEqual({
			...target,
			folder: "/x",
			paths: ["/x/a"],
			reads: [{ path: "/x/a", lines: "whole" }],
			writes: ["/x/b"],
		});
	});
});

describe("an open file", () => {
	const open = { ...at("a"), reads: [{ path: "a", lines: "part" as const }], openFile: "read" as const };

	it("is the one that was last read or written by name", () => {
		const resolve = resolver();
		resolve({ ...open, folder: "/x" });
		expect(resolve({ ...otherTarget, openFile: "read" })).toMatchObject({
			paths: ["/x/a"],
			reads: [{ path: "/x/a", lines: "part" }],
			writes: [],
		});
		expect(resolve({ ...otherTarget, openFile: "write" })).toMatchObject({
			paths: ["/x/a"],
			reads: [],
			writes: ["/x/a"],
		});
		resolve({ ...otherTarget, openFile: "write", writes: ["/b"] });
		expect(resolve({ ...otherTarget, openFile: "read" }).paths).toEqual(["/b"]);
		resolve(at("/c"));
		resolve({ ...at("/c"), reads: [{ path: "/c", lines: "whole" }] });
		expect(resolve({ ...otherTarget, openFile: "read" }).paths).toEqual(["/b"]);
		expect(resolver()({ ...otherTarget, openFile: "read" })).toEqual({ ...otherTarget, openFile: "read" });
	});
});

describe("resultArguments", () => {
	it("gives those of each result's call", () => {
		const calls = [
			{ id: "a", name: "read" },
			{ id: "b", name: "list" },
		];
		const transcript = transcriptOf(
			messageOf({ calls, counted: ["Words.", "read", '{"path":1}', "list", '{"path":2}'] }),
			messageOf({ role: "tool", results: [resultOf("b"), resultOf("a"), resultOf("gone"), resultOf(undefined)] }),
		);
		expect(resultArguments(transcript)).toEqual(['{"path":2}', '{"path":1}', undefined, undefined]);
	});
});
