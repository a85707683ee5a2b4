/**
 * A pattern for exactly the texts that filling a template can give. `grammar` tells what each variable may be; a
 * variable that stands again must have the same value again, which also keeps matching fast for any template.
 */
export function templatePattern(template: string, grammar: Readonly<Record<string, string>>): RegExp {
	const seen = new Set<string>();
	const source = template.split(/(\{\w+\})/).map((part) => {
		const variable = part.slice(1, -1);
		if (!part.startsWith("{") || !Object.hasOwn(grammar, variable)) {
			return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		}
		if (seen.has(variable)) return `\\k<${variable}>`;
		seen.add(variable);
		return `(?<${variable}>${grammar[variable]})`;
	});
	return new RegExp(`^${source.join("")}$`, "u");
}
