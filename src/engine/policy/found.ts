import { builtInStrategies } from "./names.ts";
import { presets } from "./presets.ts";
import type { Policy, PolicyLayer } from "./schema.ts";

export interface IgnoredField {
	readonly key: string;
	/** Begins with a verb or a noun in small letters, for use after a colon. */
	readonly why: string;
}

/**
 * The part of a found policy file that counts: what makes the folder's own conversations and texts smaller, or keeps more of them.
 * A file is found if it lies in the working folder and nobody has named it, so it may be anybody's. With `servesOthers`, for a
 * process that works for other folders too, none of it counts.
 */
export function foundPart(
	layer: PolicyLayer,
	{ servesOthers = false }: { readonly servesOthers?: boolean | undefined } = {},
): { readonly layer: PolicyLayer; readonly ignored: readonly IgnoredField[] } {
	const ignored: IgnoredField[] = [];
	const counting = (table: object, prefix: string): object => {
		const kept = Object.entries(table).flatMap(([name, value]) => {
			const key = `${prefix}${name}`;
			if (prefix === "" && Object.hasOwn(sections, name)) return [[name, counting(value, `${key}.`)] as const];
			const answer = servesOthers ? no("this process also works for other folders") : answerTo(key);
			if (answer === "yes" || answer.only.includes(value)) return [[name, value] as const];
			ignored.push({ key, why: answer.why });
			return [];
		});
		return Object.fromEntries(kept);
	};
	return { layer: counting(layer, "") as PolicyLayer, ignored };
}

/** `yes`, `no`, or the values that a found file may give the field. */
export function mayBeFound(key: string): "yes" | "no" | readonly unknown[] {
	const answer = answerTo(key);
	if (answer === "yes") return answer;
	return answer.only.length === 0 ? "no" : answer.only;
}

type Answer = "yes" | { readonly only: readonly unknown[]; readonly why: string };

function answerTo(key: string): Answer {
	const [name = "", field = ""] = key.split(".");
	const ofSection = sections[name as keyof typeof sections] as Readonly<Record<string, Answer>> | undefined;
	return (ofSection ? ofSection[field] : alone[name as keyof typeof alone]) ?? no("it has no answer yet");
}

const no = (why: string): Answer => ({ only: [], why });

const ofArchive = no("the archive also keeps originals of other projects");
const ofRedaction = no("what is redacted is lost to every later reader, and what is not is stored");
const ofOperator = no("it belongs to the person who runs the program");
const ofPrices = no("prices are the provider's");
const ofModel = no("it chooses which model reads the conversation, or what that costs");
const ofProxy = no("it changes the requests to the provider in another way than by our placeholders");
/** A text that a model reads as ours. Those of the presets are ours. */
const template = (...ofPresets: readonly unknown[]): Answer => ({
	only: [null, ...ofPresets],
	why: "the model would read its text as ours",
});

type Section = {
	[Key in keyof Policy]: Policy[Key] extends object ? (Policy[Key] extends readonly unknown[] ? never : Key) : never;
}[keyof Policy];

/** Every field has to have an answer here. */
const alone: Readonly<Record<Exclude<keyof Policy, Section>, Answer>> = {
	preset: "yes",
	locale: "yes",
	log_level: ofOperator,
	text: ofOperator,
	media: "yes",
	thinking: "yes",
	on_archive_failure: { only: ["refuse"], why: "originals that cannot be archived would be lost" },
	figures: ofOperator,
};

const sections: { readonly [Name in Section]: Readonly<Record<keyof Policy[Name], Answer>> } = {
	limits: { max_file_bytes: ofOperator },
	mask: {
		enabled: "yes",
		window_turns: "yes",
		keep_errors: "yes",
		error_detection: "yes",
		keep_last_k_per_tool: "yes",
		tools: "yes",
		observations: { only: ["auto", true, false], why: "patterns of its own could hide what a person wrote" },
		digest_tokens: "yes",
		placeholder_template: template(),
		placeholder: "yes",
		selection: "yes",
		thrift: "yes",
		cadence: "yes",
		stride_turns: "yes",
		by: ofProxy,
	},
	guard: {
		enabled: "yes",
		ladder: "yes",
		model: "yes",
		context_window_override: "yes",
		unknown_window: "yes",
		reserve_tokens: "yes",
		budget_ratio: "yes",
		target_ratio: "yes",
		truncate_when: "yes",
		max_tool_result_chars: "yes",
		truncate_head_chars: "yes",
		truncate_tail_chars: "yes",
		marker_template: template(presets["context-trim"].policy.guard?.marker_template),
		keep_last_messages: "yes",
		pin_task: "yes",
		max_messages: "yes",
		auto_compact: { only: [false], why: "a compaction asks a model" },
	},
	truncate: {
		strategy: "yes",
		max_chars: "yes",
		command_chars: "yes",
		repeats: "yes",
		max_tokens: "yes",
		head_chars: "yes",
		tail_chars: "yes",
		keep_ansi: "yes",
		marker_template: template(),
		json_content: "yes",
	},
	compaction: {
		strategy: { only: builtInStrategies, why: "module#Export and module:Class are code" },
		by: ofProxy,
		at_messages: "yes",
		keep_last_messages: "yes",
		keep_tool_groups: "yes",
		answered_by: ofModel,
		keep_user_text: "yes",
		keep_user_tokens: "yes",
		max_summary_tokens: ofModel,
		prompt_tokens: ofModel,
		caller_prompt_tokens: ofModel,
	},
	archive: {
		max_age_days: ofArchive,
		max_bytes: ofArchive,
		recall_hint: "yes",
		redact: ofRedaction,
		redact_credentials: ofRedaction,
	},
	tokens: { encoding: "yes", message_overhead: "yes" },
	prices: {
		input: ofPrices,
		cache_read: ofPrices,
		cache_write: ofPrices,
		output: ofPrices,
		steps: ofPrices,
		thinking_redone: ofPrices,
		fault: ofPrices,
		cache_seconds: ofPrices,
		cache_write_hour: ofPrices,
	},
};
