import type { BlockNote } from "./block-notes.ts";
import type { Branch } from "./branch.ts";
import type { NoDecision, Why } from "./decisions.ts";
import type { Block } from "./reasoning.ts";
import type { ResultState } from "./states.ts";

/** A request as it is sent. */
export interface Composed<Written> {
	readonly number: number;
	/** `undefined` if it is sent as the host sent it. */
	readonly written: Written | undefined;
	/** By place, how each result is sent. */
	readonly states: readonly (ResultState | undefined)[];
	/** Places whose state begins with this request. */
	readonly decided: ReadonlySet<number>;
	/** The results among them that are masked since the agent asked for it. */
	readonly asked: ReadonlySet<number>;
	readonly why: Why | undefined;
	readonly noDecision: NoDecision | undefined;
	readonly leftOut: readonly Block[];
	/** `undefined` for a request that only counts tokens. */
	readonly branch: Branch | undefined;
	readonly charsSent: () => number;
	/** Whether the request asks the API to leave out invalid reasoning. */
	readonly asksToDrop: boolean;
	/** Whether it asks the API to clear results. */
	readonly asksToClear: boolean;
	/** The summary of the provider that replaces its first messages. */
	readonly block: BlockNote | undefined;
	/** Whether the provider is asked why its cache broke. */
	readonly isDiagnosed: boolean;
	readonly variants: Variants<Written>;
}

/** Another form of a request, for one that the provider has refused. */
export interface Variant<Written> extends Omit<Composed<Written>, "variants"> {
	/** Notes that the provider took it. */
	readonly accepted: () => Promise<void>;
}

/** In the order in which they change the request more. */
export interface Variants<Written> {
	/** Without the reasoning that no longer fits; `undefined` if none is in it. */
	readonly withoutInvalid: () => Variant<Written> | undefined;
	/** The API leaves out reasoning that no longer fits; `undefined` if the request cannot ask for that. */
	readonly dropping: () => Variant<Written> | undefined;
	readonly withoutReasoning: () => Variant<Written> | undefined;
	/** The provider clears nothing, now and in later requests; `undefined` if it was not asked to. */
	readonly withoutClearing: () => Variant<Written> | undefined;
	/** With the host's own messages in place of a summary, now and in later requests; `undefined` if none is in it. */
	readonly withoutBlock: () => Variant<Written> | undefined;
	/** Without the decisions of this request, which are then taken back; `undefined` if there are none. */
	readonly earlier: () => Variant<Written> | undefined;
	/** As the host sent it. */
	readonly own: () => Variant<Written> | undefined;
}
