import { pick } from "./random.ts";

const words =
	"the a of to and in is that for it with as was on be by this are from at which or an have not when request file value error table process where each its after first would never should returns called handler buffer stream message server client token cache index window module export import type schema parser reader writer result output input build test suite branch commit merge deploy release version package service database query column thread socket memory pointer record field number string object array list".split(
		" ",
	);
const folders = ["src", "lib", "test", "packages/core", "packages/web/src", "internal/server", "cmd", "tools"];
const files = ["index", "router", "session", "parse-query", "user_store", "HttpClient", "render", "cache", "config"];
const levels = ["DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"];
const chineseWords =
	"系统 数据 文件 处理 用户 请求 服务器 返回 错误 结果 我们 需要 可以 如果 没有 因为 所以 这个 时候 问题 已经 进行 使用 方法 函数 参数 内容 模型 上下文 工具 调用 消息 压缩 保留 最近 的 了 在 是 和 与 对 将 从 到 不 也 都 更 很 再 一个 第二次 会话 长度 限制 窗口 预算 记录 测试 性能 线性 时间 内存 缓存 代码 仓库 分支 提交".split(
		" ",
	);

/** Makes text until it has at least so many characters, then cuts it there. */
type TextOfLength = (random: () => number, length: number) => string;

function linesOf(line: (random: () => number, number: number) => string): TextOfLength {
	return (random, length) => {
		const lines: string[] = [];
		for (let size = 0, number = 1; size < length; number++) {
			const next = line(random, number);
			lines.push(next);
			size += next.length + 1;
		}
		return lines.join("\n").slice(0, length);
	};
}

function path(random: () => number): string {
	return `${pick(random, folders)}/${pick(random, files)}-${integer(random, 400)}.ts`;
}

function integer(random: () => number, below: number): number {
	return Math.floor(random() * below);
}

function sentence(random: () => number): string {
	const said = Array.from({ length: 6 + integer(random, 14) }, () => pick(random, words)).join(" ");
	return `${said[0]?.toUpperCase()}${said.slice(1)}${pick(random, [".", ".", ".", "?", ":", ", though."])}`;
}

function hexadecimal(random: () => number, digits: number): string {
	return Array.from({ length: digits }, () => integer(random, 16).toString(16)).join("");
}

/** English sentences of common words. */
export const prose = linesOf((random) => `${sentence(random)} ${sentence(random)} ${sentence(random)}`);

/** Lines of a server's log. */
export const logLines = linesOf((random, number) => {
	const second = String(number % 60).padStart(2, "0");
	const stamp = `2026-03-${String(1 + (number % 28)).padStart(2, "0")}T12:${second}:07.${integer(random, 1000)}Z`;
	return `${stamp} ${pick(random, levels)} [${pick(random, words)}-${integer(random, 16)}] ${sentence(random)} id=${hexadecimal(random, 8)} took=${integer(random, 5000)}ms`;
});

/** What a search through source files prints. */
export const searchHits = linesOf(
	(random) =>
		`${path(random)}:${1 + integer(random, 900)}:\tconst ${pick(random, words)}${pick(random, files)} = await ${pick(random, words)}.${pick(random, words)}(${pick(random, words)}, ${integer(random, 99)});`,
);

/** Source text with numbered lines, as tools that read files answer. */
export const numberedSource = linesOf((random, number) => {
	const indent = "\t".repeat(integer(random, 4));
	const code = pick(random, [
		() => `if (${pick(random, words)}.${pick(random, words)} !== undefined) return ${integer(random, 100)};`,
		() => `export function ${pick(random, words)}${hexadecimal(random, 3)}(${pick(random, words)}: string): number {`,
		() => `// ${sentence(random)}`,
		() => "}",
	])();
	return `${String(number).padStart(6)}\t${indent}${code}`;
});

/** A list of JSON records. */
export const jsonRecords = linesOf((random, number) =>
	JSON.stringify({
		id: number,
		sha: hexadecimal(random, 40),
		path: path(random),
		ok: random() < 0.5,
		score: random(),
		title: sentence(random),
	}),
);

/** Chinese sentences of common words. */
export const chineseProse = linesOf((random) =>
	Array.from({ length: 4 + integer(random, 5) }, () => {
		const said = Array.from({ length: 5 + integer(random, 10) }, () => pick(random, chineseWords)).join("");
		return said + pick(random, ["，", "。", "；"]);
	}).join(""),
);

/** The same bytes on every machine, in base64. */
export const base64: TextOfLength = (random, length) => {
	const bytes = Uint8Array.from({ length: Math.ceil((length * 3) / 4) }, () => integer(random, 256));
	return Buffer.from(bytes).toString("base64").slice(0, length);
};
