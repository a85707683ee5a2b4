import type { PairedResult } from "../../engine/conversation/turns.ts";
import type { TruncateOutputParameters } from "../../engine/truncation/draft.ts";
import { areLarge, type LargeTexts, largeText } from "../../operations/large-texts.ts";
import { arrivalsOf, arrivingPlaces, knownStates, reasonAgainst, unsentPlaces } from "./decisions.ts";
import type { HostRequest, Opened, Shared } from "./request.ts";

/**
 * Has the new large results of a request cut in another thread. The request waits for it, and others do not. What could
 * not be cut there is sent whole, and stays so; then it rejects.
 */
export async function cutElsewhere<Written>(
	opened: Opened,
	{ recall, decides, continues }: Pick<HostRequest<Written>, "recall" | "decides" | "continues">,
	shared: Shared & { readonly largeTexts?: LargeTexts | undefined },
): Promise<void> {
	const { largeTexts, memory } = shared;
	const { paired } = opened;
	const unsent = unsentPlaces(opened).flatMap((place) => (paired[place] as PairedResult).result.texts);
	const mayCut = opened.conversation === undefined ? continues : decides;
	if (!largeTexts || !mayCut || !areLarge(unsent.map(({ text }) => text))) return;
	const cuts: { readonly parameters: TruncateOutputParameters; text?: string | undefined }[] = [];
	const find = (parameters: TruncateOutputParameters): string | undefined => {
		const { text, focus, ref, budget } = parameters;
		const known = cuts.find(
			({ parameters: one }) =>
				one.focus === focus && one.ref === ref && one.budget.max === budget.max && one.text === text,
		);
		if (!known) cuts.push({ parameters });
		return known?.text;
	};
	opened.cutsElsewhere = { from: largeText, find };
	const { remembered } = opened;
	const isFrozen = remembered !== undefined && remembered.requests + 1 <= remembered.frozenUntil;
	if (reasonAgainst({ isHeldOut: opened.isHeldOut === true }, isFrozen, shared) !== undefined) return;
	const known =
		opened.conversation === undefined ? paired.map(() => undefined) : knownStates(opened, opened.remembered);
	arrivalsOf(opened, arrivingPlaces(opened, known), { ...shared, recall, repeats: opened.repeats });
	const cutOne = async (one: (typeof cuts)[number]): Promise<void> => {
		one.text = await largeTexts.cut(one.parameters);
	};
	const ended = await Promise.allSettled(cuts.map(cutOne));
	// Others may have sent something since.
	if (opened.conversation !== undefined) opened.remembered = await memory.fetch(opened.conversation, opened.wait);
	const failed = ended.find((one) => one.status === "rejected");
	if (failed) throw failed.reason;
}
