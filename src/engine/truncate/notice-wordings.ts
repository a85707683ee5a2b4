import type { LocaleName } from "../../policy/schema.ts";

/**
 * What stands in a shortened text in the place of what was left out. Variables: {omitted_lines}, {total_lines},
 * {omitted_chars}, {total_chars}, {ref} in `notice` and `archived`; {from} and {to}, lines from 1, in `gap` and `folded`;
 * {omitted} and {total} in `items` and `keys`; {omitted_chars} in `inside`; {kind}, {total_chars} and {total_lines} in
 * `data`, which comes behind the notice.
 */
export interface NoticeWording {
	/** First line: what was left out. */
	readonly notice: string;
	/** The same where the whole is archived and whoever reads it can recall it. */
	readonly archived: string;
	/** The same where lines tell little: JSON, data that is described. Variables {omitted_chars}, {total_chars}, {ref}. */
	readonly whole: string;
	readonly wholeArchived: string;
	/** In place of any of these where there is little room. */
	readonly short: string;
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
	/** Before HTML that was made readable text. Variables {total_chars}, {ref}. */
	readonly html: string;
	readonly htmlArchived: string;
	/** What such data is called. */
	readonly kinds: Readonly<Record<"binary" | "base64" | "minified", string>>;
}

export const noticeWordings: Readonly<Record<LocaleName, NoticeWording>> = {
	fr: {
		notice:
			"[Sortie abrégée : {omitted_lines} lignes sur {total_lines} omises ({omitted_chars} caractères sur {total_chars})]",
		archived:
			"[Sortie abrégée : {omitted_lines} lignes sur {total_lines} omises ({omitted_chars} caractères sur {total_chars}) ; intacte, à relire avec recall_original, réf={ref}]",
		whole: "[Sortie abrégée : {omitted_chars} caractères omis sur {total_chars}]",
		wholeArchived:
			"[Sortie abrégée : {omitted_chars} caractères omis sur {total_chars} ; intacte, à relire avec recall_original, réf={ref}]",
		short: "[abrégé : {omitted_chars} caractères omis]",
		gap: "[… lignes {from}–{to} …]",
		folded: "[… lignes {from}–{to} semblables …]",
		inside: "[… {omitted_chars} caractères …]",
		items: "{omitted} éléments sur {total} omis",
		keys: "{omitted} clés sur {total} omises",
		data: "[{kind}, non montré : {total_chars} caractères, {total_lines} lignes]",
		html: "[HTML rendu en texte ; original : {total_chars} caractères]",
		htmlArchived:
			"[HTML rendu en texte ; original : {total_chars} caractères, intact, à relire avec recall_original, réf={ref}]",
		kinds: { binary: "Données binaires", base64: "Données base64", minified: "Code minifié" },
	},
	en: {
		notice:
			"[Output shortened: {omitted_lines} of {total_lines} lines left out ({omitted_chars} of {total_chars} characters)]",
		archived:
			"[Output shortened: {omitted_lines} of {total_lines} lines left out ({omitted_chars} of {total_chars} characters); intact, read it with recall_original, ref={ref}]",
		whole: "[Output shortened: {omitted_chars} of {total_chars} characters left out]",
		wholeArchived:
			"[Output shortened: {omitted_chars} of {total_chars} characters left out; intact, read it with recall_original, ref={ref}]",
		short: "[shortened: {omitted_chars} characters left out]",
		gap: "[… lines {from}–{to} …]",
		folded: "[… lines {from}–{to} alike …]",
		inside: "[… {omitted_chars} characters …]",
		items: "{omitted} of {total} items left out",
		keys: "{omitted} of {total} keys left out",
		data: "[{kind}, not shown: {total_chars} characters, {total_lines} lines]",
		html: "[HTML as text; the original has {total_chars} characters]",
		htmlArchived:
			"[HTML as text; the original has {total_chars} characters, intact, read it with recall_original, ref={ref}]",
		kinds: { binary: "Binary data", base64: "Base64 data", minified: "Minified code" },
	},
	zh: {
		notice: "[输出已缩短：共 {total_lines} 行，省略 {omitted_lines} 行（{total_chars} 个字符中的 {omitted_chars} 个）]",
		archived:
			"[输出已缩短：共 {total_lines} 行，省略 {omitted_lines} 行（{total_chars} 个字符中的 {omitted_chars} 个）；原文完好，用 recall_original 读取，ref={ref}]",
		whole: "[输出已缩短：{total_chars} 个字符中省略 {omitted_chars} 个]",
		wholeArchived:
			"[输出已缩短：{total_chars} 个字符中省略 {omitted_chars} 个；原文完好，用 recall_original 读取，ref={ref}]",
		short: "[已缩短：省略 {omitted_chars} 个字符]",
		gap: "[… 第 {from}–{to} 行 …]",
		folded: "[… 第 {from}–{to} 行相似 …]",
		inside: "[… {omitted_chars} 个字符 …]",
		items: "共 {total} 项，省略 {omitted} 项",
		keys: "共 {total} 个键，省略 {omitted} 个",
		data: "[{kind}，未显示：{total_chars} 个字符，{total_lines} 行]",
		html: "[HTML 已转为文本；原文 {total_chars} 个字符]",
		htmlArchived: "[HTML 已转为文本；原文 {total_chars} 个字符，完好，用 recall_original 读取，ref={ref}]",
		kinds: { binary: "二进制数据", base64: "Base64 数据", minified: "压缩代码" },
	},
};
