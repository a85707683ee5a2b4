import type { PresetName } from "./names.ts";
import type { PolicyLayer } from "./schema.ts";

export interface Preset {
	readonly description: string;
	readonly source: string;
	/** Only the fields that the source defines; all others have the schema's defaults. */
	readonly policy: PolicyLayer;
}

/** The marker of `context-trim` (docs/strategies.md#context-limit). */
export const trimMarker = {
	plain: "\n\n[... contenu tronqué ...]\n\n",
	archived: "\n\n[... contenu tronqué, réf={ref} ...]\n\n",
} as const;

/** Masks all that is older than the window, at once. */
export const byAge = { enabled: true, selection: "age", cadence: "every_turn" } as const;

export const presets: Readonly<Record<PresetName, Preset>> = {
	"observation-masking": {
		description: "Masks results older than 8 tool turns, keeps errors, placeholder in French.",
		source: "« Schéma 1 : Observation Masking », technical specification and guide.",
		policy: {
			locale: "fr",
			mask: { enabled: true, window_turns: 8, keep_errors: true, keep_last_k_per_tool: null },
			compaction: { strategy: "hiding-then-summary" },
		},
	},
	"tool-result-hiding": {
		description: "Hides all results, errors too, but those of the last 5 tool-call groups; placeholder in Chinese.",
		source: "KLIP-13, “Compaction 策略化与 Tool Result Hiding”.",
		policy: {
			locale: "zh",
			mask: { enabled: true, window_turns: 5, keep_errors: false, placeholder_template: null },
			compaction: {
				strategy: "hiding-then-summary",
				keep_tool_groups: 5,
				keep_last_messages: 2,
				keep_user_text: false,
			},
		},
	},
	"context-guard": {
		description:
			"Cuts results over 50 000 characters, then drops the oldest groups until all fits the window less 8 192.",
		source: "“Context Window Guard — 实现计划”.",
		policy: {
			locale: "en",
			mask: { enabled: false },
			guard: {
				ladder: ["truncate", "drop"],
				unknown_window: 200_000,
				reserve_tokens: 8_192,
				truncate_when: "always",
				max_tool_result_chars: 50_000,
				truncate_head_chars: 2_000,
				truncate_tail_chars: 2_000,
				keep_last_messages: 1,
				pin_task: false,
			},
			truncate: { max_chars: 50_000, head_chars: 2_000, tail_chars: 2_000 },
			compaction: { keep_user_text: false },
		},
	},
	"context-trim": {
		description:
			"Over 80 % of the window: cuts results over 2 000 characters, then drops the oldest, keeping 4 messages.",
		source: "« Plan d'Amélioration agentichat », tasks 1, 3 and 4.",
		policy: {
			locale: "fr",
			mask: { enabled: false },
			guard: {
				ladder: ["truncate", "drop"],
				unknown_window: "leave",
				budget_ratio: 0.8,
				reserve_tokens: 0,
				truncate_when: "over_budget",
				max_tool_result_chars: 2_000,
				truncate_head_chars: 500,
				truncate_tail_chars: 500,
				marker_template: trimMarker.plain,
				keep_last_messages: 4,
				pin_task: false,
				max_messages: 50,
			},
			compaction: { strategy: "llm-summary", at_messages: 30, keep_last_messages: 5, keep_user_text: false },
			truncate: { max_chars: 8_000, head_chars: 4_000, tail_chars: 4_000, json_content: true },
			tokens: { message_overhead: 4 },
		},
	},
	balanced: {
		description:
			"Masks by use when that pays with prompt caching (one knob, `mask.thrift`); cuts results by structure and focus.",
		source: "Measurements on recorded conversations, in docs/evidence.md.",
		policy: {
			locale: "en",
			thinking: "auto",
			mask: {
				window_turns: 1,
				keep_errors: true,
				placeholder: "short",
				error_detection: "structural",
				selection: "use",
				cadence: "break_even",
				observations: true,
			},
			guard: { target_ratio: 0.7, max_tool_result_chars: 16_000 },
			truncate: { strategy: "auto", max_chars: 16_000, command_chars: 4_000, repeats: true },
			compaction: { keep_user_text: true },
		},
	},
};
