import type { CountMethod } from "../../tokens/estimate-tokens.ts";

/** The roles of messages, as they are told apart in every format. */
export type ReportedRole = "system" | "user" | "assistant" | "tool" | "other";

/** What a role fills. The shares of all roles add up to the whole conversation. */
export interface RoleShare {
	/**
	 * `tool`: results, whatever message carries them, and messages that hold nothing else. `system` holds what each
	 * request carries beside the messages, too. `other`: roles that no format defines.
	 */
	readonly role: ReportedRole;
	readonly tokens: number;
	/** UTF-16 code units of the texts. */
	readonly chars: number;
	/** Messages of that role; each counts once. */
	readonly messages: number;
}

/** What the results of a tool fill. */
export interface ToolShare {
	/** As the calls name it, without control characters; `null` where no call with a name is in the conversation. */
	readonly tool: string | null;
	/** Tokens of its results; those of its calls count with the assistant. */
	readonly tokens: number;
	readonly results: number;
}

/** One of the largest tool results. */
export interface LargeResult {
	/** As above. */
	readonly tool: string | null;
	/** `null` where the format gives none. */
	readonly call_id: string | null;
	/**
	 * What its call was about, for people to recognise it by: the files or folders, else the program of a command such as
	 * `npm test`; at most 120 characters. `null` where the call does not tell.
	 */
	readonly target: string | null;
	/** Index of the message that holds it, from 0. */
	readonly message: number;
	readonly tokens: number;
	/** Tool turns that came after it. */
	readonly age_turns: number;
	/**
	 * Whether an assistant message used an identifier or a whole line of it that stood in no more than three results, and
	 * nowhere else, until then.
	 */
	readonly used_since: boolean;
	/** Whether what it shows was read again, edited or repeated since. */
	readonly stale: boolean;
}

/** What a preset would make of the conversation as it stands. */
export interface PresetOutcome {
	/** A preset's name; `balanced:low` and `balanced:high` are that preset with the other two settings of `mask.thrift`. */
	readonly preset: string;
	/** Tokens of the whole conversation afterwards. */
	readonly tokens_after: number;
	/** Tokens that this call and each after it would be sent less; below 0 where more is put in than taken out. */
	readonly freed_tokens: number;
	/** Tool results with a placeholder in their stead. */
	readonly masked: number;
	/** Tool results that are cut. */
	readonly truncated: number;
	/** Messages taken out. */
	readonly dropped: number;
	/** Whether the result is within the budget that the preset leaves; `null` where no window is known. */
	readonly fits: boolean | null;
	/** Tokens from the first change on, which the provider would write to its cache anew. */
	readonly rewritten_tokens: number;
	/**
	 * Calls after which the savings have paid for that; 0 where it costs nothing, `null` where they never do and where
	 * nothing changes.
	 */
	readonly calls_to_break_even: number | null;
}

/**
 * What fills the context window: what `palimpsest report` prints as JSON, and its page is drawn from. Tokens are the
 * best guess of the counter; each list has the largest first, presets excepted, which stand as they are listed. It holds
 * no text of the conversation but names of tools, ids of calls and their targets.
 */
export interface ContextReport {
	/** As the caller, the conversation or the policy names it; `null` where none does. */
	readonly model: string | null;
	/** How the tokens were counted: `estimated` where the model's tokenizer is not public. */
	readonly method: CountMethod;
	/** Tokens of the model's context window; `null` where it is not known. */
	readonly context_window: number | null;
	/** Tokens that the conversation may have at most: the window, less what the answer needs; `null` as above. */
	readonly budget_tokens: number | null;
	/** Tokens of the whole conversation, as the next call would be sent it. */
	readonly tokens: number;
	/** Messages that are sent; those that a session has compacted away are not. */
	readonly messages: number;
	/** Tool turns among them. */
	readonly tool_turns: number;
	readonly by_role: readonly RoleShare[];
	readonly by_tool: readonly ToolShare[];
	/** At most 10. */
	readonly biggest_results: readonly LargeResult[];
	readonly presets: readonly PresetOutcome[];
	/** What a reader of the numbers should know, in English sentences. */
	readonly notes: readonly string[];
}
