import { describe, expect, it } from "vitest";
import { builtInStrategies, parseStrategyName } from "../../../src/engine/policy/names.ts";

describe("parseStrategyName", () => {
	it("accepts the built-in strategies (docs/compaction.md)", () => {
		expect(builtInStrategies).toEqual(["llm-summary", "tool-result-hiding", "hiding-then-summary", "provider"]);
		for (const name of builtInStrategies) expect(parseStrategyName(name)).toEqual({ kind: "built_in", name });
	});

	it.each([
		["some-package#Strategy", "some-package", "Strategy"],
		["@scope/some.package#default", "@scope/some.package", "default"],
		["some-package/strategies/short#$short_1", "some-package/strategies/short", "$short_1"],
		["./strategy.mjs#Strategy", "./strategy.mjs", "Strategy"],
		["../strategies/#1/index.js#Strategy", "../strategies/#1/index.js", "Strategy"],
		["/opt/strategies/short.js#策略", "/opt/strategies/short.js", "策略"],
		["C:\\strategies\\short.js#Strategy", "C:\\strategies\\short.js", "Strategy"],
		["file:///opt/short.js#Strategy", "file:///opt/short.js", "Strategy"],
		["some-package:Strategy", "some-package", "Strategy"],
		["@scope/some.package/short:default", "@scope/some.package/short", "default"],
		["./strategy.mjs:Strategy", "./strategy.mjs", "Strategy"],
		["./odd:name.mjs#Strategy", "./odd:name.mjs", "Strategy"],
		["../strategies/#1/index.js:Strategy", "../strategies/#1/index.js", "Strategy"],
		["C:\\strategies\\short.js:Strategy", "C:\\strategies\\short.js", "Strategy"],
		["C:/strategies/short.js:Strategy", "C:/strategies/short.js", "Strategy"],
		["file:///opt/short.js:Strategy", "file:///opt/short.js", "Strategy"],
		["file:///C:/strategies/short.js:Strategy", "file:///C:/strategies/short.js", "Strategy"],
	])("%s is external", (name, module, exportName) => {
		expect(parseStrategyName(name)).toEqual({ kind: "external", module, exportName });
	});

	it.each([
		["llm_summary", "Did you mean llm-summary?"],
		["hiding-than-summary", "Did you mean hiding-then-summary?"],
		["", '"module#Export"'],
		["some-package", '"module#Export"'],
		["some-package#", "name of an export"],
		["some-package#a.b", "name of an export"],
		["some-package#a b", "name of an export"],
		["#Strategy", "a package or a path"],
		["https://host/strategy.js#Strategy", "a package or a path"],
		["https://host/strategy.js:Strategy", "a package or a path"],
		["C:\\strategies\\short.js", "name of an export"],
		["file:///opt/short.js", "name of an export"],
		["file:short", "name of an export"],
		["node:fs", "a package or a path"],
		["node:fs:Strategy", "a package or a path"],
		["npm:some-package", "a package or a path"],
		["npm:some-package:Strategy", "a package or a path"],
		["some-package:", "name of an export"],
		[":Strategy", "a package or a path"],
		["./a.mjs:one.two", "name of an export"],
		["data:text/javascript,export#Strategy", "a package or a path"],
		["node:fs#Strategy", "a package or a path"],
		["some package#Strategy", "a package or a path"],
		[`./${"x".repeat(1_000)}#Strategy`, "a package or a path"],
	])("%j is invalid", (name, problem) => {
		const parsed = parseStrategyName(name);
		expect(parsed).toEqual({ kind: "unusable", problem: expect.stringContaining(problem) });
		expect(JSON.stringify(parsed).length).toBeLessThan(300);
	});
});
