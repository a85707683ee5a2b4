import type { LocaleName } from "./schema.ts";

/** The notices in a shortened output. Each is a line of its own. */
export interface ExcerptWordings {
	/** At the top. Variables: {shown_lines}, {total_lines}, {total_chars}. */
	readonly top: string;
	/** Before that, of what a command put out. Variables: {ending}, {seconds}. */
	readonly ending: string;
	/** How a command ended. Variable: {code}. */
	readonly exitCode: string;
	/** How a command ended. Variables: {signal}, {code}. */
	readonly signal: string;
	/** Behind the top where all of it is archived. Variables: {command}, {ref}. */
	readonly recall: string;
	/** The same where only the beginning is. Variables: {command}, {ref}, {kept_bytes}. */
	readonly recallPart: string;
	/** The same where a host had cut the output before it came. Variables: {command}, {ref}, {received_chars}. */
	readonly recallReceived: string;
	/** In the gap. Variables: {first}, {last}. */
	readonly lines: string;
	/** In a gap within a line. Variables: {start}, {end}. */
	readonly chars: string;
	/** Before the numbered lines that tell of failures. Variables: {first}, {last}. */
	readonly failures: string;
	/** Behind them where some did not fit. Variable: {count}. */
	readonly moreFailures: string;
	/** Before the tail. Variable: {first}. */
	readonly tail: string;
	/** In a read file that was cut at its end. Variables: {first}, {last}. */
	readonly readOn: string;
	/** Before an output that a host can only take as an error. */
	readonly noError: string;
}

/** The notices of each locale. */
export const excerptWordings: Readonly<Record<LocaleName, ExcerptWordings>> = {
	fr: {
		top: "[Sortie abrégée : {shown_lines} lignes sur {total_lines}, {total_chars} caractères en tout.",
		ending: "{ending} après {seconds} s.",
		exitCode: "Code de sortie {code}",
		signal: "Terminé par {signal} (code de sortie {code})",
		recall: " Le tout : {command} recall {ref}]",
		recallPart: " Les {kept_bytes} premiers octets : {command} recall {ref}]",
		recallReceived: " L'hôte l'avait déjà coupée ; les {received_chars} caractères reçus : {command} recall {ref}]",
		lines: "[... lignes {first}-{last} omises ...]",
		chars: "[... caractères {start}-{end} omis ...]",
		failures: "[... des lignes {first}-{last}, seulement ce qui signale un échec :]",
		moreFailures: "[... et {count} autres lignes de ce genre ...]",
		tail: "[... à partir de la ligne {first} :]",
		readOn: "[... lignes {first}-{last} omises : à lire avec offset et limit ...]",
		noError: "[Ni bloqué ni erreur de l'outil : sa longue sortie est abrégée ci-dessous.]",
	},
	en: {
		top: "[Output shortened: {shown_lines} of {total_lines} lines, {total_chars} characters in all.",
		ending: "{ending} after {seconds} s.",
		exitCode: "Exit code {code}",
		signal: "Ended by {signal} (exit code {code})",
		recall: " All of it: {command} recall {ref}]",
		recallPart: " Its first {kept_bytes} bytes: {command} recall {ref}]",
		recallReceived: " The host had cut it already; the {received_chars} characters that came: {command} recall {ref}]",
		lines: "[... lines {first}-{last} left out ...]",
		chars: "[... characters {start}-{end} left out ...]",
		failures: "[... of lines {first}-{last}, only what tells of failures:]",
		moreFailures: "[... and {count} more such lines ...]",
		tail: "[... from line {first} on:]",
		readOn: "[... lines {first}-{last} left out: read them with offset and limit ...]",
		noError: "[Not blocked, and no error of the tool: its long output is shortened below.]",
	},
	zh: {
		top: "[输出已缩短：显示 {total_lines} 行中的 {shown_lines} 行，共 {total_chars} 个字符。",
		ending: "{ending}，用时 {seconds} 秒。",
		exitCode: "退出码 {code}",
		signal: "被 {signal} 终止（退出码 {code}）",
		recall: "全文：{command} recall {ref}]",
		recallPart: "前 {kept_bytes} 字节：{command} recall {ref}]",
		recallReceived: "宿主此前已将其截断；收到的 {received_chars} 个字符：{command} recall {ref}]",
		lines: "[... 省略第 {first}-{last} 行 ...]",
		chars: "[... 省略第 {start}-{end} 个字符 ...]",
		failures: "[... 第 {first}-{last} 行中仅列出表明失败的内容：]",
		moreFailures: "[... 另有 {count} 行同类内容 ...]",
		tail: "[... 自第 {first} 行起：]",
		readOn: "[... 省略第 {first}-{last} 行：请用 offset 和 limit 读取 ...]",
		noError: "[并未被阻止，也不是工具出错：其较长的输出缩短如下。]",
	},
};
