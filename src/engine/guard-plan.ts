import type { Policy } from "../policy/schema.ts";
import type { Archiving } from "./archiving.ts";
import type { Plan } from "./edit.ts";
import type { Measurement, TokenMeter } from "./measure.ts";
import type { MaskResultParameters } from "./strategies/mask-result.ts";
import type { MomentOf } from "./strategies/thinking.ts";
import type { ByStrategy } from "./strategies/truncate.ts";
import type { TokenScale } from "./token-scale.ts";
import type { Transcript } from "./transcript.ts";
import type { NoticeWording } from "./truncate/notice-wordings.ts";

/** What the guard would do, and whether the outcome fits. */
export interface GuardPlan {
	readonly plan: Plan;
	readonly steps: readonly LadderStep[];
	readonly measurement: Measurement;
	readonly tokensAfter: number;
	readonly fits: boolean;
	/** Tokens over the budget when even the smallest view is over it; otherwise 0. */
	readonly shortfall: number;
	/** When each edit of the plan was first made. */
	readonly momentOf: MomentOf;
}

/** A step of the guard's ladder that was taken. */
export interface LadderStep {
	readonly step: "truncate" | "mask" | "drop";
	/** Results truncated or masked, or messages dropped, by this step. */
	readonly count: number;
	/** Tokens of the whole conversation after it. */
	readonly tokensAfter: number;
}

/** What the guard needs to know. */
export interface GuardParameters {
	readonly transcript: Transcript;
	readonly policy: Policy;
	/** Tokens that the conversation may take. */
	readonly budget: number;
	readonly meter: TokenMeter;
	/** The conversation measured by that meter, where that was done before. */
	readonly measurement?: Measurement;
	/** What the model makes of a token; by default, that it is one. */
	readonly scale?: TokenScale;
	readonly wording: MaskResultParameters["wording"] & {
		readonly guardMarker: string;
		readonly notices: NoticeWording;
	};
	/** What the truncation strategies use of libraries. */
	readonly libraries?: Pick<ByStrategy, "stripAnsi" | "htmlToText"> | undefined;
	readonly isPlaceholder: (text: string) => boolean;
	readonly archiving?: Archiving | undefined;
}
