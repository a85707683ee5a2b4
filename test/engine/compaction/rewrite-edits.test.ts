import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { applyPlan } from "../../../src/engine/apply.ts";
import { planRewrite } from "../../../src/engine/compaction/plan-rewrite.ts";
import { jsonPointer } from "../../../src/engine/path.ts";
import { planRelink } from "../../../src/formats/sessions/relink.ts";
import { messageOf, transcriptOf } from "../../support/transcripts.ts";
import { planOf, rewrite } from "./rewriting.ts";

const long = "word ".repeat(200);
const record = (type: string, uuid: string, parentUuid: string | null, content: unknown) => ({
	type,
	uuid,
	parentUuid,
	sessionId: "s",
	message: { id: uuid, role: type, content },
});
const session = [
	record("user", "1", null, "go"),
	record("assistant", "2", "1", [{ type: "tool_use", id: "a", name: "ls", input: {} }]),
	record("user", "3", "2", [{ type: "tool_result", tool_use_id: "a", content: long }]),
	record("assistant", "4", "3", [{ type: "text", text: long }]),
	record("user", "5", "4", "on"),
];
const hidden = record("user", "3", "2", [{ type: "tool_result", tool_use_id: "a", content: "hidden" }]);

const shape = (made: ReturnType<typeof rewrite>) =>
	planOf(made).plan.map((edit) => `${edit.kind} ${jsonPointer(edit.path)} (${edit.message})`);
const relinked = (made: ReturnType<typeof rewrite>) =>
	planRelink(made.source.format, made.source.located, planOf(made).plan).map(
		({ path, replacement }) => `${jsonPointer(path)} ${replacement}`,
	);

describe("records of a session", () => {
	it("that are written anew under their id stay in their place, and what follows them stays tied", () => {
		const made = rewrite(session, (history) => history.map((one, index) => (index === 2 ? hidden : one)));
		expect(made.source.format.name).toBe("claude-code");
		expect(shape(made)).toEqual(["replace /2 (2)"]);
		expect(relinked(made)).toEqual([]);
		expect(made.violations).toEqual([]);
		expect(planOf(made).plan[0]?.after.tokens).toBeLessThan(20);
	});

	it("that go before it go, and what is new before it is put in", () => {
		const late = record("user", "5", "x", "on, then");
		const fresh = record("user", "x", "1", "what came before");
		const made = rewrite(session, (history) => [history[0], fresh, late]);
		expect(shape(made)).toEqual(["insert /1 (1)", "remove /1 (1)", "remove /2 (2)", "remove /3 (3)", "replace /4 (4)"]);
		expect(made.violations).toEqual([]);
		// A new record that no later one leads to would be sent to no model.
		const aside = record("user", "5", "1", "on, then");
		expect(rewrite(session, (history) => [history[0], fresh, aside]).promises).toEqual(["inserted_as_planned"]);
	});

	it("that were moved are no forerunners", () => {
		const early = record("user", "5", null, "on!");
		const made = rewrite(session, (history) => [early, history[0], history[3]]);
		expect(shape(made)).toEqual(["insert /0 (0)", "remove /1 (1)", "remove /2 (2)", "remove /4 (4)"]);
		expect(relinked(made)).toEqual(["/3/parentUuid 1"]);
	});
});

const count = { replace: 0, insert: 0, remove: 0, kept: 0 };

describe("any list", () => {
	const value = fc.record({ id: fc.constantFrom(..."abcdefghij"), text: fc.constantFrom("x", "y") });
	const list = fc.array(value, { minLength: 1, maxLength: 12, size: "max" });

	const deeds = fc.array(fc.constantFrom("keep", "keep", "change", "drop", "add"), { minLength: 12, maxLength: 12 });
	const pairs = fc.oneof(
		fc.tuple(list, list),
		fc.tuple(list, deeds).map(([before, done]) => {
			const after = before.flatMap((one, index) => {
				const changed = { ...one, text: "z" };
				if (done[index] === "add") return [{ id: "new", text: "x" }, one];
				return done[index] === "drop" ? [] : [done[index] === "change" ? changed : one];
			});
			return [before, after.length === 0 ? before : after] as const;
		}),
	);

	test.prop([pairs, fc.boolean()], { numRuns: 500 })(
		"becomes what it is to be, whatever has an identity",
		([before, after], named) => {
			const transcript = transcriptOf(...before.map(() => messageOf()));
			const size = { chars: 1, tokens: 1 };
			const made = planRewrite({
				source: { transcript, base: [], messages: before },
				after,
				sizes: before.map(() => size),
				sizeOf: () => size,
				identityOf: (one) => (named ? (one as { id: string }).id : undefined),
			});
			if (made.kind !== "rewrite") {
				expect(after).toEqual(before);
				return;
			}
			const { plan } = made;
			expect(applyPlan(before, plan)).toEqual(after);
			const of = (kind: string) => plan.filter((edit) => edit.kind === kind);
			expect(of("remove").length + of("replace").length + made.kept).toBe(before.length);
			expect(of("insert").length + of("replace").length + made.kept).toBe(after.length);
			expect(made.removed.length).toBe(before.length - made.kept);
			for (const edit of of("replace")) {
				const { id } = (edit as { replacement: { id: string } }).replacement;
				expect(before[Number(edit.path[0])]?.id).toBe(id);
			}
			count.kept += made.kept;
			for (const kind of ["replace", "insert", "remove"] as const) count[kind] += of(kind).length;
			if (!named) expect(of("replace")).toEqual([]);
		},
	);

	afterAll(() => {
		expect(Math.min(count.replace, count.insert, count.remove, count.kept)).toBeGreaterThan(40);
	});
});
