/** The roles of messages, as they are told apart in every format. */
export type ReportedRole = "system" | "user" | "assistant" | "tool" | "other";

/** What the messages of a role fill. */
export interface RoleShare {
	/** `other`: roles that no format defines. `system` holds what each request carries beside the messages, too. */
	readonly role: ReportedRole;
	readonly tokens: number;
	/** UTF-16 code units of their texts. */
	readonly chars: number;
	readonly messages: number;
}

/** What the results of a tool fill. */
export interface ToolShare {
	/** As the calls name it; `null` for results whose call is not in the conversation. */
	readonly tool: string | null;
	/** Tokens of its results; those of its calls count with the assistant. */
	readonly tokens: number;
	readonly results: number;
}

/** One of the largest tool results. */
export interface LargeResult {
	readonly tool: string | null;
	/** `null` where the format gives none. */
	readonly call_id: string | null;
	/** Index of the message that holds it, from 0. */
	readonly message: number;
	readonly tokens: number;
	/** Tool turns since it came; 0 for one of the last tool turn, or without a turn of its own. */
	readonly age_turns: number;
	/** Whether a later assistant message used an identifier or a whole line that stood only in tool results. */
	readonly used_since: boolean;
	/** Whether what it shows was read again, edited or repeated since. */
	readonly stale: boolean;
}

/** What a preset would make of the conversation as it stands. */
export interface PresetOutcome {
	readonly preset: string;
	/** Tokens of the whole conversation afterwards. */
	readonly tokens_after: number;
	/** Tokens that this call and each after it would be sent less; below 0 where more is put in than taken out. */
	readonly freed_tokens: number;
	/** Tool results with a placeholder in their stead. */
	readonly masked: number;
	/** Messages taken out. */
	readonly dropped: number;
	/** Whether the result is within the budget; `null` where no budget is known. */
	readonly fits: boolean | null;
	/** Tokens from the first change on, which the provider would write to its cache anew. */
	readonly rewritten_tokens: number;
	/** Calls after which the savings have paid for that; 0 where it costs nothing, `null` where they never do. */
	readonly calls_to_break_even: number | null;
}

/**
 * What fills the context window: what `palimpsest report` prints as JSON, and its page is drawn from. Tokens are the
 * best guess of the counter; each list has the largest first, presets excepted, which stand as they are listed.
 */
export interface ContextReport {
	/** As the conversation or the caller names it; `null` where neither does. */
	readonly model: string | null;
	/** Tokens of the model's context window; `null` where it is not known. */
	readonly context_window: number | null;
	/** Tokens that the conversation may have at most: the window, less what the answer needs; `null` as above. */
	readonly budget_tokens: number | null;
	/** Tokens of the whole conversation, as the next call would be sent it. */
	readonly tokens: number;
	readonly messages: number;
	readonly tool_turns: number;
	readonly by_role: readonly RoleShare[];
	readonly by_tool: readonly ToolShare[];
	/** At most 10. */
	readonly biggest_results: readonly LargeResult[];
	readonly presets: readonly PresetOutcome[];
}
