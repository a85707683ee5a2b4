import type { LocaleName } from "./schema.ts";

/**
 * What stands in an output that a strategy shortened. The first four stand at its top, each a line of its own; the others
 * in the place of what was left out. Variables: {omitted_lines}, {total_lines}, {omitted_chars}, {total_chars} at the top;
 * {from} and {to}, lines from 1, in `gap` and `folded`; {omitted_chars} in `inside`; {omitted} and {total} in `items` and
 * `keys`; {kind}, {total_chars} and {total_lines} in `data`.
 */
export interface NoticeTemplates {
	/** What was left out, in lines. */
	readonly notice: string;
	/** The same where lines tell little: JSON, data that is described. */
	readonly whole: string;
	/** In place of either where there is little room. */
	readonly short: string;
	/** Before HTML that was made readable text. */
	readonly html: string;
	/** In place of lines. */
	readonly gap: string;
	/** In place of lines that are like the one before them. */
	readonly folded: string;
	/** In place of a part of a line, or of a string of JSON. */
	readonly inside: string;
	/** In place of items of a list. */
	readonly items: string;
	/** In place of keys of an object. */
	readonly keys: string;
	/** In place of data that is described, not shown. */
	readonly data: string;
	/** What such data is called. */
	readonly kinds: Readonly<Record<"binary" | "base64" | "minified", string>>;
}

/** The wordings of one locale. Blank lines around a marker are part of it. */
export interface LocaleWordings {
	readonly placeholder: string;
	/** The placeholder that names some of what the result held, in the variable {digest} beside its own. */
	readonly digest_placeholder: string;
	/** In place of a masked image, recording or document. Variables: {media}, {tool_call_id}, {tool_name}. */
	readonly media_placeholder: string;
	readonly truncation_marker: string;
	readonly notices: NoticeTemplates;
	/** The same where the original is archived, with the variable {ref} beside their own. */
	readonly archived: {
		readonly placeholder: string;
		readonly digest_placeholder: string;
		readonly media_placeholder: string;
		readonly truncation_marker: string;
		readonly notices: Pick<NoticeTemplates, "notice" | "whole" | "short" | "html">;
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
		notices: {
			notice:
				"[Sortie abrégée : {omitted_lines} lignes sur {total_lines} omises ({omitted_chars} caractères sur {total_chars})]",
			whole: "[Sortie abrégée : {omitted_chars} caractères omis sur {total_chars}]",
			short: "[abrégé : {omitted_chars} caractères omis]",
			html: "[HTML rendu en texte ; original : {total_chars} caractères]",
			gap: "[… lignes {from}–{to} …]",
			folded: "[… lignes {from}–{to} semblables …]",
			inside: "[… {omitted_chars} caractères …]",
			items: "{omitted} éléments sur {total} omis",
			keys: "{omitted} clés sur {total} omises",
			data: "[{kind}, non montré : {total_chars} caractères, {total_lines} lignes]",
			kinds: { binary: "Données binaires", base64: "Données base64", minified: "Code minifié" },
		},
		archived: {
			placeholder:
				"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars}, réf={ref})]",
			digest_placeholder:
				"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars}, réf={ref}, mentions={digest})]",
			media_placeholder: "[Média masqué: {media} (tool_call_id={tool_call_id}, outil={tool_name}, réf={ref})]",
			truncation_marker: "\n\n[... {omitted_chars} caractères omis, réf={ref} ...]\n\n",
			notices: {
				notice:
					"[Sortie abrégée : {omitted_lines} lignes sur {total_lines} omises ({omitted_chars} caractères sur {total_chars}), réf={ref}]",
				whole: "[Sortie abrégée : {omitted_chars} caractères omis sur {total_chars}, réf={ref}]",
				short: "[abrégé : {omitted_chars} caractères omis, réf={ref}]",
				html: "[HTML rendu en texte ; original : {total_chars} caractères, réf={ref}]",
			},
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
		notices: {
			notice:
				"[Output shortened: {omitted_lines} of {total_lines} lines left out ({omitted_chars} of {total_chars} characters)]",
			whole: "[Output shortened: {omitted_chars} of {total_chars} characters left out]",
			short: "[shortened: {omitted_chars} characters left out]",
			html: "[HTML as text; the original has {total_chars} characters]",
			gap: "[… lines {from}–{to} …]",
			folded: "[… lines {from}–{to} alike …]",
			inside: "[… {omitted_chars} characters …]",
			items: "{omitted} of {total} items left out",
			keys: "{omitted} of {total} keys left out",
			data: "[{kind}, not shown: {total_chars} characters, {total_lines} lines]",
			kinds: { binary: "Binary data", base64: "Base64 data", minified: "Minified code" },
		},
		archived: {
			placeholder:
				"[Observation masked: old tool result (tool_call_id={tool_call_id}, tool={tool_name}, chars={original_chars}, ref={ref})]",
			digest_placeholder:
				"[Observation masked: old tool result (tool_call_id={tool_call_id}, tool={tool_name}, chars={original_chars}, ref={ref}, mentions={digest})]",
			media_placeholder: "[Media masked: {media} (tool_call_id={tool_call_id}, tool={tool_name}, ref={ref})]",
			truncation_marker: "\n\n... [{omitted_chars} characters truncated, ref={ref}] ...\n\n",
			notices: {
				notice:
					"[Output shortened: {omitted_lines} of {total_lines} lines left out ({omitted_chars} of {total_chars} characters), ref={ref}]",
				whole: "[Output shortened: {omitted_chars} of {total_chars} characters left out, ref={ref}]",
				short: "[shortened: {omitted_chars} characters left out, ref={ref}]",
				html: "[HTML as text; the original has {total_chars} characters, ref={ref}]",
			},
		},
		recall_hint: " Intact, no error: read it with recall_original.",
		unknown_tool: "unknown",
	},
	zh: {
		placeholder: "历史 tool_call已隐藏",
		digest_placeholder: "历史 tool_call已隐藏 (提及={digest})",
		media_placeholder: "[媒体已隐藏: {media} (tool_call_id={tool_call_id}, 工具={tool_name})]",
		truncation_marker: "\n\n... [已截断 {omitted_chars} 个字符] ...\n\n",
		notices: {
			notice:
				"[输出已缩短：共 {total_lines} 行，省略 {omitted_lines} 行（{total_chars} 个字符中的 {omitted_chars} 个）]",
			whole: "[输出已缩短：{total_chars} 个字符中省略 {omitted_chars} 个]",
			short: "[已缩短：省略 {omitted_chars} 个字符]",
			html: "[HTML 已转为文本；原文 {total_chars} 个字符]",
			gap: "[… 第 {from}–{to} 行 …]",
			folded: "[… 第 {from}–{to} 行相似 …]",
			inside: "[… {omitted_chars} 个字符 …]",
			items: "共 {total} 项，省略 {omitted} 项",
			keys: "共 {total} 个键，省略 {omitted} 个",
			data: "[{kind}，未显示：{total_chars} 个字符，{total_lines} 行]",
			kinds: { binary: "二进制数据", base64: "Base64 数据", minified: "压缩代码" },
		},
		archived: {
			placeholder: "历史 tool_call已隐藏 (ref={ref})",
			digest_placeholder: "历史 tool_call已隐藏 (ref={ref}, 提及={digest})",
			media_placeholder: "[媒体已隐藏: {media} (tool_call_id={tool_call_id}, 工具={tool_name}, ref={ref})]",
			truncation_marker: "\n\n... [已截断 {omitted_chars} 个字符, ref={ref}] ...\n\n",
			notices: {
				notice:
					"[输出已缩短：共 {total_lines} 行，省略 {omitted_lines} 行（{total_chars} 个字符中的 {omitted_chars} 个）, ref={ref}]",
				whole: "[输出已缩短：{total_chars} 个字符中省略 {omitted_chars} 个, ref={ref}]",
				short: "[已缩短：省略 {omitted_chars} 个字符, ref={ref}]",
				html: "[HTML 已转为文本；原文 {total_chars} 个字符, ref={ref}]",
			},
		},
		recall_hint: " 原文完好，并非错误：用 recall_original 读取。",
		unknown_tool: "未知",
	},
};
