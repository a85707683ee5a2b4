import type { LocaleName } from "./names.ts";
import { trimMarker } from "./presets.ts";
import type { Policy } from "./schema.ts";

export interface Wordings {
	/** Variables: `placeholderVariables`. */
	readonly placeholder: string;
	/** With the variable {digest}. A template of the policy serves for both. */
	readonly digestPlaceholder: string;
	/** For an image, recording or document. Variables: {media}, {tool_call_id}, {tool_name}. */
	readonly mediaPlaceholder: string;
	/** For a result that the guard truncated. Variables: `markerVariables`. */
	readonly guardMarker: string;
	/** For a text that `truncate` truncated. Variables: `markerVariables`. */
	readonly truncateMarker: string;
	readonly notices: NoticeWordings;
	readonly repeats: RepeatWordings;
	readonly unknownTool: string;
}

/** The line in the place of lines that are in view already. */
export interface RepeatWordings {
	/** Variables: {from}, {to}, {source_from}, {source_to}, {source}, {numbers}, and {ref} with an archive. */
	readonly line: string;
	/** The same without a reference, for all lines of a text but the first. */
	readonly further: string;
	/** For {numbers}: the numbers before the lines differ by {shift}. */
	readonly higher: string;
	readonly lower: string;
}

/** The notices of a shortened output, and those for an archived one, with {ref}. */
export type NoticeWordings = NoticeTemplates &
	Readonly<Record<"archived" | "wholeArchived" | "shortArchived" | "htmlArchived", string>>;

/** Whether originals are archived, and how the reader of a placeholder reads one: by `recall_original`, or as named. */
export type Originals = "not_archived" | "archived" | "recallable" | { readonly recalledBy: string };

/** A template that equals one of ours gets our wording with the reference; any other stays unchanged. */
export function wordings(policy: Policy, originals: Originals = "not_archived"): Wordings {
	const locale = locales[policy.locale];
	const inForce = originals === "not_archived" ? locale : locale.archived;
	const hint = hintOf(locale, originals);
	const own = (template: string) => (originals !== "not_archived" && withReference.get(template)) || template;
	const { placeholder_template: ownPlaceholder, placeholder: style } = policy.mask;
	// A caller that names its own way to read originals also needs it in short placeholders.
	const shortHint = typeof originals === "object" ? hint : "";
	const usual =
		style === "short"
			? { placeholder: inForce.short_placeholder + shortHint, digest: inForce.short_digest_placeholder + shortHint }
			: { placeholder: inForce.placeholder + hint, digest: inForce.digest_placeholder + hint };
	return {
		placeholder: ownPlaceholder === null ? usual.placeholder : own(ownPlaceholder),
		digestPlaceholder: ownPlaceholder === null ? usual.digest : own(ownPlaceholder),
		mediaPlaceholder: inForce.media_placeholder + hint,
		guardMarker: own(policy.guard.marker_template ?? locale.truncation_marker),
		truncateMarker: own(policy.truncate.marker_template ?? locale.truncation_marker),
		notices: noticesOf(policy.locale, originals),
		repeats: {
			line: inForce.repeat,
			further: locale.repeat,
			higher: locale.numbers_higher,
			lower: locale.numbers_lower,
		},
		unknownTool: locale.unknown_tool,
	};
}

/** Of a shortened output. */
export function noticesOf(name: LocaleName, originals: Originals): NoticeWordings {
	const locale = locales[name];
	const { notice, whole, short, html } = locale.archived.notices;
	const hint = hintOf(locale, originals);
	return {
		...locale.notices,
		archived: notice + hint,
		wholeArchived: whole + hint,
		// Without the hint, since it is used where room is short.
		shortArchived: short,
		htmlArchived: html + hint,
	};
}

function hintOf({ recall_hint: hint }: Words, originals: Originals): string {
	if (typeof originals === "object") return hint.replace("recall_original", () => originals.recalledBy);
	return originals === "recallable" ? hint : "";
}

/** The first four are lines at the top of an output, the others replace omitted parts. */
type NoticeTemplates = Readonly<
	Record<
		| "notice"
		| "whole"
		| "short"
		| "html"
		| "gap"
		| "gapOfFile"
		| "gapOfNames"
		| "gapOfFiles"
		| "folded"
		| "inside"
		| "dataInside"
		| "items"
		| "keys"
		| "data",
		string
	>
> & { readonly kinds: Readonly<Record<"binary" | "base64" | "hex" | "minified", string>> };

/** Blank lines around a marker are part of it. */
type Templates = Readonly<
	Record<
		| "placeholder"
		| "digest_placeholder"
		| "short_placeholder"
		| "short_digest_placeholder"
		| "media_placeholder"
		| "truncation_marker"
		| "repeat",
		string
	>
> & { readonly notices: NoticeTemplates };

/** The hint follows a placeholder whose reader is offered `recall_original`. */
type Words = Readonly<
	Record<"recall_hint" | "unknown_tool" | "cleared_note" | "numbers_higher" | "numbers_lower", string>
>;
type LocaleWordings = Templates & Words & { readonly archived: Templates };

/** In the templates, ⟨ and ⟩ enclose the part with the reference. */
function localeOf(templates: Templates, words: Words): LocaleWordings {
	const archived = mapTexts(templates, (template) => template.replace(/[⟨⟩]/g, ""));
	return { ...mapTexts(templates, (template) => template.replace(/⟨.*?⟩/g, "")), archived, ...words };
}

function mapTexts<Value>(value: Value, change: (text: string) => string): Value {
	if (typeof value === "string") return change(value) as Value;
	const entries = Object.entries(value as object).map(([key, inner]) => [key, mapTexts(inner, change)]);
	return Object.fromEntries(entries) as Value;
}

export const locales: Readonly<Record<LocaleName, LocaleWordings>> = {
	fr: localeOf(
		{
			placeholder:
				"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars}⟨, réf={ref}⟩)]",
			digest_placeholder:
				"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars}⟨, réf={ref}⟩, mentions={digest})]",
			short_placeholder: "[masqué : {tool_name}, {original_chars} caractères⟨ #{ref}⟩]",
			short_digest_placeholder: "[masqué : {tool_name}, {original_chars} caractères⟨ #{ref}⟩ ; {digest}]",
			media_placeholder: "[Média masqué: {media} (tool_call_id={tool_call_id}, outil={tool_name}⟨, réf={ref}⟩)]",
			truncation_marker: "\n\n[... {omitted_chars} caractères omis⟨, réf={ref}⟩ ...]\n\n",
			repeat:
				"[lignes {from}–{to}⟨ (réf={ref})⟩ : inchangées, les mêmes que les lignes {source_from}–{source_to} du résultat de {source}{numbers}]",
			notices: {
				notice:
					"[Sortie abrégée : {omitted_lines} lignes sur {total_lines} omises ({omitted_chars} caractères sur {total_chars})⟨, réf={ref}⟩]",
				whole: "[Sortie abrégée : {omitted_chars} caractères omis sur {total_chars}⟨, réf={ref}⟩]",
				short: "[abrégé : {omitted_chars} caractères omis⟨, réf={ref}⟩]",
				html: "[HTML rendu en texte ; original : {total_chars} caractères⟨, réf={ref}⟩]",
				gap: "[… lignes {from}–{to} …]",
				gapOfFile: "[… lignes {from}–{to} ; ce fichier : +{added} -{removed} …]",
				gapOfNames: "[… lignes {from}–{to} ; {files} …]",
				gapOfFiles: "[… lignes {from}–{to} ; fichiers : {files}, +{added} -{removed} …]",
				folded: "[… lignes {from}–{to} semblables …]",
				inside: "[… {omitted_chars} caractères …]",
				dataInside: "[… {kind}, {omitted_chars} caractères …]",
				items: "{omitted} éléments sur {total} omis",
				keys: "{omitted} clés sur {total} omises",
				data: "[{kind}, non montré : {total_chars} caractères, {total_lines} lignes]",
				kinds: {
					binary: "Données binaires",
					base64: "Données base64",
					hex: "Données hexadécimales",
					minified: "Code minifié",
				},
			},
		},
		{
			recall_hint: " Intact, pas une erreur : à relire avec recall_original.",
			unknown_tool: "inconnu",
			numbers_higher: " ; numéros de ligne plus grands de {shift}",
			numbers_lower: " ; numéros de ligne plus petits de {shift}",
			cleared_note:
				"[D'anciens résultats d'outils ont été vidés, sans erreur. Pour en relire un : {command}. Vidés : {results}]",
		},
	),
	en: localeOf(
		{
			placeholder:
				"[Observation masked: old tool result (tool_call_id={tool_call_id}, tool={tool_name}, chars={original_chars}⟨, ref={ref}⟩)]",
			digest_placeholder:
				"[Observation masked: old tool result (tool_call_id={tool_call_id}, tool={tool_name}, chars={original_chars}⟨, ref={ref}⟩, mentions={digest})]",
			short_placeholder: "[masked {tool_name}, {original_chars} chars⟨ #{ref}⟩]",
			short_digest_placeholder: "[masked {tool_name}, {original_chars} chars⟨ #{ref}⟩; {digest}]",
			media_placeholder: "[Media masked: {media} (tool_call_id={tool_call_id}, tool={tool_name}⟨, ref={ref}⟩)]",
			truncation_marker: "\n\n... [{omitted_chars} characters truncated⟨, ref={ref}⟩] ...\n\n",
			repeat:
				"[lines {from}–{to}⟨ (ref={ref})⟩: unchanged, the same as lines {source_from}–{source_to} of the result of {source}{numbers}]",
			notices: {
				notice:
					"[Output shortened: {omitted_lines} of {total_lines} lines left out ({omitted_chars} of {total_chars} characters)⟨, ref={ref}⟩]",
				whole: "[Output shortened: {omitted_chars} of {total_chars} characters left out⟨, ref={ref}⟩]",
				short: "[shortened: {omitted_chars} characters left out⟨, ref={ref}⟩]",
				html: "[HTML as text; the original has {total_chars} characters⟨, ref={ref}⟩]",
				gap: "[… lines {from}–{to} …]",
				gapOfFile: "[… lines {from}–{to}; this file: +{added} -{removed} …]",
				gapOfNames: "[… lines {from}–{to}; {files} …]",
				gapOfFiles: "[… lines {from}–{to}; files: {files}, +{added} -{removed} …]",
				folded: "[… lines {from}–{to} alike …]",
				inside: "[… {omitted_chars} characters …]",
				dataInside: "[… {kind}, {omitted_chars} characters …]",
				items: "{omitted} of {total} items left out",
				keys: "{omitted} of {total} keys left out",
				data: "[{kind}, not shown: {total_chars} characters, {total_lines} lines]",
				kinds: { binary: "Binary data", base64: "Base64 data", hex: "Hexadecimal data", minified: "Minified code" },
			},
		},
		{
			recall_hint: " Intact, no error: read it with recall_original.",
			unknown_tool: "unknown",
			numbers_higher: "; line numbers {shift} higher",
			numbers_lower: "; line numbers {shift} lower",
			cleared_note: "[Old tool results were cleared, which is no error. To read one: {command}. Cleared: {results}]",
		},
	),
	zh: localeOf(
		{
			placeholder: "历史 tool_call已隐藏⟨ (ref={ref})⟩",
			digest_placeholder: "历史 tool_call已隐藏 (⟨ref={ref}, ⟩提及={digest})",
			short_placeholder: "[已隐藏 {tool_name}, {original_chars} 字符⟨ #{ref}⟩]",
			short_digest_placeholder: "[已隐藏 {tool_name}, {original_chars} 字符⟨ #{ref}⟩；{digest}]",
			media_placeholder: "[媒体已隐藏: {media} (tool_call_id={tool_call_id}, 工具={tool_name}⟨, ref={ref}⟩)]",
			truncation_marker: "\n\n... [已截断 {omitted_chars} 个字符⟨, ref={ref}⟩] ...\n\n",
			repeat: "[第 {from}–{to} 行⟨ (ref={ref})⟩：未变，与 {source} 结果的第 {source_from}–{source_to} 行相同{numbers}]",
			notices: {
				notice:
					"[输出已缩短：共 {total_lines} 行，省略 {omitted_lines} 行（{total_chars} 个字符中的 {omitted_chars} 个）⟨, ref={ref}⟩]",
				whole: "[输出已缩短：{total_chars} 个字符中省略 {omitted_chars} 个⟨, ref={ref}⟩]",
				short: "[已缩短：省略 {omitted_chars} 个字符⟨, ref={ref}⟩]",
				html: "[HTML 已转为文本；原文 {total_chars} 个字符⟨, ref={ref}⟩]",
				gap: "[… 第 {from}–{to} 行 …]",
				gapOfFile: "[… 第 {from}–{to} 行；此文件：+{added} -{removed} …]",
				gapOfNames: "[… 第 {from}–{to} 行；{files} …]",
				gapOfFiles: "[… 第 {from}–{to} 行；{files} 个文件：+{added} -{removed} …]",
				folded: "[… 第 {from}–{to} 行相似 …]",
				inside: "[… {omitted_chars} 个字符 …]",
				dataInside: "[… {kind}，{omitted_chars} 个字符 …]",
				items: "共 {total} 项，省略 {omitted} 项",
				keys: "共 {total} 个键，省略 {omitted} 个",
				data: "[{kind}，未显示：{total_chars} 个字符，{total_lines} 行]",
				kinds: { binary: "二进制数据", base64: "Base64 数据", hex: "十六进制数据", minified: "压缩代码" },
			},
		},
		{
			recall_hint: " 原文完好，并非错误：用 recall_original 读取。",
			unknown_tool: "未知",
			numbers_higher: "；行号大 {shift}",
			numbers_lower: "；行号小 {shift}",
			cleared_note: "[较早的工具结果已被清除，并非错误。读取其一：{command}。已清除：{results}]",
		},
	),
};

/** Each placeholder and marker of a locale or a preset, and the same with the reference of its original. */
const withReference: ReadonlyMap<string, string> = new Map([
	[trimMarker.plain, trimMarker.archived],
	...Object.values(locales).flatMap(({ archived, placeholder, truncation_marker }): [string, string][] => [
		[placeholder, archived.placeholder],
		[truncation_marker, archived.truncation_marker],
	]),
]);

/** The notices in an output that is shortened as it streams, each a line of its own. */
export const excerptWordings = {
	fr: {
		ending: "{ending} après {seconds} s.",
		exitCode: "Code de sortie {code}",
		signal: "Terminé par {signal} (code de sortie {code})",
		recall: " Le tout : {command} recall {ref}]",
		recallPart: " Les {kept_bytes} premiers octets : {command} recall {ref}]",
		recallReceived: " L'hôte l'avait déjà coupée ; les {received_chars} caractères reçus : {command} recall {ref}]",
		readOn: "[... lignes {first}-{last} omises : à lire avec offset et limit ...]",
		noError: "[Ni bloqué ni erreur de l'outil : sa longue sortie est abrégée ci-dessous.]",
	},
	en: {
		ending: "{ending} after {seconds} s.",
		exitCode: "Exit code {code}",
		signal: "Ended by {signal} (exit code {code})",
		recall: " All of it: {command} recall {ref}]",
		// If only the beginning is archived.
		recallPart: " Its first {kept_bytes} bytes: {command} recall {ref}]",
		// If the host had cut the output before.
		recallReceived: " The host had cut it already; the {received_chars} characters that came: {command} recall {ref}]",
		// At the end of a truncated file.
		readOn: "[... lines {first}-{last} left out: read them with offset and limit ...]",
		// Before an output that a host accepts only as an error.
		noError: "[Not blocked, and no error of the tool: its long output is shortened below.]",
	},
	zh: {
		ending: "{ending}，用时 {seconds} 秒。",
		exitCode: "退出码 {code}",
		signal: "被 {signal} 终止（退出码 {code}）",
		recall: "全文：{command} recall {ref}]",
		recallPart: "前 {kept_bytes} 字节：{command} recall {ref}]",
		recallReceived: "宿主此前已将其截断；收到的 {received_chars} 个字符：{command} recall {ref}]",
		readOn: "[... 省略第 {first}-{last} 行：请用 offset 和 limit 读取 ...]",
		noError: "[并未被阻止，也不是工具出错：其较长的输出缩短如下。]",
	},
} satisfies Readonly<Record<LocaleName, object>>;

export type ExcerptWordings = Readonly<Record<keyof (typeof excerptWordings)["en"], string>>;
