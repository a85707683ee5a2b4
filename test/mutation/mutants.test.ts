import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { asBuilt } from "./build.ts";
import { errorWording } from "./error-wording.ts";
import { explanationKey, type Mutant, nameOf, sampleOf } from "./mutants.ts";
import { modulesOf, rooms, sourcesOf, testsOf } from "./rooms.ts";
import { coverMutants, isActiveMutant, mutation } from "./switch.ts";

const mutant: Mutant = {
	id: "7",
	fileName: resolve("src/engine/masking/mask.ts"),
	mutatorName: "EqualityOperator",
	replacement: "a <= b",
	location: { start: { line: 2, column: 4 }, end: { line: 2, column: 9 } },
};

describe("a mutant", () => {
	it("is named after its place, with lines and columns from 1 on", () => {
		expect(nameOf(mutant)).toBe("src/engine/masking/mask.ts:3:5-3:10 EqualityOperator a <= b");
	});

	it("is in its module if it was drawn", () => {
		const code = 'const one = stryMutAct_9fa48("1") ? 2 : (stryCov_9fa48("1", "2"), stryMutAct_9fa48("2") ? 3 : 4);';
		const built = asBuilt(code, { file: "/src/a.ts", drawn: new Set(["2"]) });
		expect(built.split("\n")[1]).toBe("const one = false ? 2 : (coverMutants(2), isActiveMutant(2) ? 3 : 4);");
		expect(asBuilt(code, { file: "/src/a.ts", drawn: new Set() })).toBe("const one = false ? 2 : (0, false ? 3 : 4);");
	});

	it("is active alone, until it was reached too often", () => {
		Object.assign(mutation, { active: 7, hits: 0, mostHits: 2 });
		expect([isActiveMutant(6), isActiveMutant(7), isActiveMutant(7)]).toEqual([false, true, true]);
		expect(() => isActiveMutant(7)).toThrow("reached 3 times");
	});

	it("is counted where the original is reached", () => {
		coverMutants(1);
		mutation.counts = new Uint32Array(4);
		coverMutants(1, 3);
		coverMutants(3);
		expect([...mutation.counts]).toEqual([0, 1, 0, 2]);
	});

	it("is not made of the wording of an error, but of its code and its condition", () => {
		const thrown = { type: "NewExpression", callee: { name: "PalimpsestError" } };
		const ignored = (type: string, parent: typeof thrown | null, key: number) =>
			errorWording.shouldIgnore({ node: { type }, parent, key });
		expect(ignored("TemplateLiteral", thrown, 1)).toBe("the wording of an error");
		expect(ignored("StringLiteral", thrown, 0)).toBeUndefined();
		expect(ignored("ConditionalExpression", thrown, 1)).toBeUndefined();
		expect(ignored("StringLiteral", { ...thrown, callee: { name: "Map" } }, 1)).toBeUndefined();
	});
});

describe("a sample", () => {
	const names = Array.from({ length: 500 }, (_, number) => `mutant ${number}`);

	it("is the same for the same seed, and another one for another", () => {
		const sample = sampleOf({ names, seed: 1, size: 100 });
		expect(sampleOf({ names: names.toReversed(), seed: 1, size: 100 })).toEqual(sample);
		expect(new Set(sample).size).toBe(100);
		expect(sampleOf({ names, seed: 2, size: 100 })).not.toEqual(sample);
	});
});

describe("every room", () => {
	it.each(rooms.map((room) => [room.name, room] as const))("%s has sources and tests", (_, room) => {
		expect(sourcesOf(room).length).toBeGreaterThan(2);
		expect(testsOf(room).length).toBeGreaterThan(3);
	});
});

describe("a test file", () => {
	it("loads its imports, and the imports of those modules", () => {
		const modules = modulesOf("test/engine/masking/mask.test.ts");
		expect([...modules]).toEqual(
			expect.arrayContaining(["src/engine/masking/mask.ts", "src/engine/conversation/plan.ts"]),
		);
	});
});

describe("an explained survivor", () => {
	const lines = readFileSync("test/mutation-survivors.md", "utf8").split("\n");
	const explanations = lines.filter((line) => line.startsWith("- "));

	it("is found by the line of its source and its replacement", () => {
		expect(explanationKey({ ...mutant, fileName: resolve("src/a.ts") }, "one\ntwo\n\treturn a < b;\n")).toBe(
			"- src/a.ts: ``return a < b;`` → ``a <= b``:",
		);
	});

	it.each(explanations)("%s", (line) => {
		const [, file, source, , reason] = /^- (\S+): ``(.+?)`` → ``(.*?)``: (.+)$/.exec(line) ?? [];
		const text = readFileSync(file ?? "", "utf8").split("\n");
		expect(text.map((one) => one.trim())).toContain(source);
		expect(reason?.length).toBeGreaterThan(20);
	});
});
