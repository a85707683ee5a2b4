import type { LocaleName } from "./schema.ts";

/** The wordings of one locale. Blank lines around a marker are part of it. */
export interface LocaleWordings {
	readonly placeholder: string;
	/** The placeholder that names some of what the result held, in the variable {digest} beside its own. */
	readonly digest_placeholder: string;
	/** In place of a masked image, recording or document. Variables: {media}, {tool_call_id}, {tool_name}. */
	readonly media_placeholder: string;
	readonly truncation_marker: string;
	/** The same four where the original is archived, with the variable {ref} beside their own. */
	readonly archived: {
		readonly placeholder: string;
		readonly digest_placeholder: string;
		readonly media_placeholder: string;
		readonly truncation_marker: string;
	};
	/** What follows a placeholder where whoever reads it is offered `recall_original`. */
	readonly recall_hint: string;
	readonly unknown_tool: string;
}

/** Every locale's templates, worded as the documents that this product follows word them. */
export const locales: Readonly<Record<LocaleName, LocaleWordings>> = {
	fr: {
		placeholder:
			"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars})]",
		digest_placeholder:
			"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars}, mentions={digest})]",
		media_placeholder: "[Média masqué: {media} (tool_call_id={tool_call_id}, outil={tool_name})]",
		truncation_marker: "\n\n[... {omitted_chars} caractères omis ...]\n\n",
		archived: {
			placeholder:
				"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars}, réf={ref})]",
			digest_placeholder:
				"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars}, réf={ref}, mentions={digest})]",
			media_placeholder: "[Média masqué: {media} (tool_call_id={tool_call_id}, outil={tool_name}, réf={ref})]",
			truncation_marker: "\n\n[... {omitted_chars} caractères omis, réf={ref} ...]\n\n",
		},
		recall_hint: " Intact, pas une erreur : à relire avec recall_original.",
		unknown_tool: "inconnu",
	},
	en: {
		placeholder:
			"[Observation masked: old tool result (tool_call_id={tool_call_id}, tool={tool_name}, chars={original_chars})]",
		digest_placeholder:
			"[Observation masked: old tool result (tool_call_id={tool_call_id}, tool={tool_name}, chars={original_chars}, mentions={digest})]",
		media_placeholder: "[Media masked: {media} (tool_call_id={tool_call_id}, tool={tool_name})]",
		truncation_marker: "\n\n... [{omitted_chars} characters truncated] ...\n\n",
		archived: {
			placeholder:
				"[Observation masked: old tool result (tool_call_id={tool_call_id}, tool={tool_name}, chars={original_chars}, ref={ref})]",
			digest_placeholder:
				"[Observation masked: old tool result (tool_call_id={tool_call_id}, tool={tool_name}, chars={original_chars}, ref={ref}, mentions={digest})]",
			media_placeholder: "[Media masked: {media} (tool_call_id={tool_call_id}, tool={tool_name}, ref={ref})]",
			truncation_marker: "\n\n... [{omitted_chars} characters truncated, ref={ref}] ...\n\n",
		},
		recall_hint: " Intact, no error: read it with recall_original.",
		unknown_tool: "unknown",
	},
	zh: {
		placeholder: "历史 tool_call已隐藏",
		digest_placeholder: "历史 tool_call已隐藏 (提及={digest})",
		media_placeholder: "[媒体已隐藏: {media} (tool_call_id={tool_call_id}, 工具={tool_name})]",
		truncation_marker: "\n\n... [已截断 {omitted_chars} 个字符] ...\n\n",
		archived: {
			placeholder: "历史 tool_call已隐藏 (ref={ref})",
			digest_placeholder: "历史 tool_call已隐藏 (ref={ref}, 提及={digest})",
			media_placeholder: "[媒体已隐藏: {media} (tool_call_id={tool_call_id}, 工具={tool_name}, ref={ref})]",
			truncation_marker: "\n\n... [已截断 {omitted_chars} 个字符, ref={ref}] ...\n\n",
		},
		recall_hint: " 原文完好，并非错误：用 recall_original 读取。",
		unknown_tool: "未知",
	},
};
