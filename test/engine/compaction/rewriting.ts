import { planRewrite } from "../../../src/engine/compaction/rewrite-edits.ts";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import { measure, type TokenMeter } from "../../../src/engine/conversation/measure.ts";
import { valueAt } from "../../../src/engine/conversation/paths.ts";
import { type Violation, verify } from "../../../src/engine/conversation/verify.ts";
import { locateMessages, type ReadConversation, readConversation } from "../../../src/formats/detect.ts";
import { roughCount } from "../../support/rough-count.ts";

export const meter: TokenMeter = { countTokens: roughCount, messageOverhead: 3 };

type Rewrite = ReturnType<typeof planRewrite>;

/** What came of a strategy's outcome. */
export interface Rewritten {
	readonly source: ReadConversation;
	readonly rewrite: Rewrite;
	readonly document: unknown;
	readonly violations: readonly Violation[];
	readonly promises: readonly string[];
}

/**
 * Plans, applies, reads again and verifies what a strategy made of the list of a conversation. `tamper` stands for a
 * defect of ours between applying and verifying.
 */
export function rewrite(
	document: unknown,
	strategy: (history: readonly unknown[]) => unknown,
	tamper: (edited: unknown) => unknown = (edited) => edited,
): Rewritten {
	const source = readConversation(document);
	const { transcript, located } = source;
	const { base, messages } = located;
	const measured = measure(transcript, meter);
	const sizeOf = (value: unknown) => {
		const alone = source.format.read({ document: [value], base: [], messages: [value] });
		return measure(alone, meter).total;
	};
	const after = strategy(JSON.parse(JSON.stringify(messages)));
	const { links } = source.format;
	const identityOf = (value: unknown) => {
		const id = links && valueAt(value, links.id);
		return typeof id === "string" ? id : undefined;
	};
	const given = { source: { transcript, base, messages }, sizes: measured.messages, sizeOf, identityOf };
	const rewritten = planRewrite({ ...given, after });
	if (rewritten.kind !== "rewrite") {
		return { source, rewrite: rewritten, document, violations: [], promises: [] };
	}
	const { plan } = rewritten;
	const edited = tamper(applyPlan(document, plan));
	const reread = source.format.read(locateMessages(edited));
	const violations = verify(
		{ document, transcript },
		{ document: edited, transcript: reread },
		{ plan, base, countTokens: meter.countTokens, rewrite: { meter } },
	);
	const promises = [...new Set(violations.map(({ promise }) => promise))];
	return { source, rewrite: rewritten, document: edited, violations, promises };
}

/** The plan of a rewrite that came about. */
export function planOf({ rewrite: made }: Rewritten): Extract<Rewrite, { kind: "rewrite" }> {
	if (made.kind !== "rewrite") throw new Error(`expected a rewrite, got ${JSON.stringify(made)}`);
	return made;
}
