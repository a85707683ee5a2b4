import { z } from "zod";
import { alternatives, describeValue, invalidPolicy, pathLabel, suggestion, valueAt } from "./errors.ts";
import { type PolicyLayer, policyLayerSchema, policySchema } from "./schema.ts";

/** `source` names the origin in errors. `observation_masking.schema1` is read as `mask`. Throws `invalid_policy`. */
export function checkPolicyLayer(value: unknown, source: string): PolicyLayer {
	const { layer, problems } = inspectPolicyLayer(value);
	if (problems.length > 0) throw invalidPolicy(source, problems);
	return layer;
}

export interface PolicyInspection {
	readonly layer: PolicyLayer;
	readonly problems: readonly string[];
}

const alias = "observation_masking";
const acceptedSchema = policyLayerSchema.extend({
	[alias]: z.strictObject({ schema1: policyLayerSchema.shape.mask as z.ZodType }).optional(),
});

/** Never throws, never follows a prototype. */
export function inspectPolicyLayer(value: unknown): PolicyInspection {
	const problems: string[] = [];
	const known = knownPart(acceptedSchema, value, { path: [], problems });
	const checked = acceptedSchema.safeParse(known ?? {});
	problems.push(...(checked.error?.issues ?? []).map((issue) => describeProblem(issue, known)));
	const { [alias]: aliased, ...layer } = (checked.success ? checked.data : {}) as Record<string, unknown>;
	if (aliased === undefined) return { layer, problems };
	if (layer.mask !== undefined) {
		problems.push("observation_masking.schema1: is another name of mask, which is set too. Keep one of the two.");
	}
	return { layer: { ...layer, mask: (aliased as { schema1: PolicyLayer["mask"] }).schema1 ?? {} }, problems };
}

/** Copies the known keys of a table. Each unknown key, and each value that should be a table, becomes a problem. */
function knownPart(
	schema: z.ZodObject,
	value: unknown,
	{ path, problems }: { readonly path: readonly string[]; readonly problems: string[] },
): Record<string, unknown> | undefined {
	if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Date) {
		problems.push(`${pathLabel(path)}expected a table, got ${describeValue(value, { text: "quoted" })}`);
		return undefined;
	}
	const known: Record<string, unknown> = {};
	for (const [key, inner] of Object.entries(value)) {
		if (inner === undefined) continue;
		const innerPath = [...path, key];
		if (!Object.hasOwn(schema.shape, key)) {
			problems.push(`${pathLabel(innerPath)}unknown key.${hintFor(innerPath, Object.keys(schema.shape))}`);
			continue;
		}
		const field = (schema.shape[key] as z.ZodOptional).unwrap();
		const kept = field instanceof z.ZodObject ? knownPart(field, inner, { path: innerPath, problems }) : inner;
		if (kept !== undefined) known[key] = kept;
	}
	return known;
}

function describeProblem(issue: z.core.$ZodIssue, root: unknown): string {
	if (issue.code === "custom") return `${pathLabel(issue.path)}${issue.message}`;
	let schema: FieldSchema | undefined = acceptedFields();
	for (const key of issue.path) schema = fieldOf(schema, key);
	const takesText = [schema, ...(schema?.anyOf ?? [])].some((one) => one?.type === "string" && one.enum === undefined);
	const got = describeValue(valueAt(root, issue.path), { text: takesText ? "length" : "quoted", object: "a table" });
	return `${pathLabel(issue.path)}expected ${describeType(schema ?? {})}, got ${got}`;
}

function fieldOf(schema: FieldSchema | undefined, key: PropertyKey): FieldSchema | undefined {
	if (typeof key === "number") return (schema?.anyOf?.find(({ items }) => items !== undefined) ?? schema)?.items;
	const others = schema?.additionalProperties;
	return schema?.properties?.[String(key)] ?? (typeof others === "object" ? others : undefined);
}

function hintFor(path: readonly string[], siblings: readonly string[]): string {
	const known = keysUnder(acceptedFields(), "").filter((key) => path[0] === alias || !key.startsWith(alias));
	return suggestion(path.join("."), known, ` Known here: ${siblings.filter((key) => key !== alias).join(", ")}.`);
}

function keysUnder(schema: FieldSchema, prefix: string): string[] {
	return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
		const key = `${prefix}${name}`;
		return [key, ...keysUnder(field, `${key}.`)];
	});
}

let accepted: FieldSchema | undefined;

/** Made at the first error, since only errors need it. */
function acceptedFields(): FieldSchema {
	accepted ??= z.toJSONSchema(acceptedSchema) as FieldSchema;
	return accepted;
}

export interface PolicyField {
	readonly key: string;
	readonly type: string;
	readonly default: unknown;
	readonly description: string;
	readonly environmentName: string;
}

export function policyFields(schema = policyJsonSchema() as FieldSchema, prefix = ""): PolicyField[] {
	return Object.entries(schema.properties ?? {}).flatMap(([name, field]): PolicyField[] => {
		const key = `${prefix}${name}`;
		if (field.properties !== undefined) return policyFields(field, `${key}.`);
		const environmentName = `PALIMPSEST_${key.replaceAll(".", "_").toUpperCase()}`;
		const { default: value, description = "" } = field;
		return [{ key, type: describeType(field), default: value, description, environmentName }];
	});
}

let made: Record<string, unknown> | undefined;

export function policyJsonSchema(): Record<string, unknown> {
	// Kept, since a server uses it five times at its start.
	made ??= { ...z.toJSONSchema(policySchema, { target: "draft-2020-12", io: "input" }), title: "Palimpsest policy" };
	return made;
}

interface FieldSchema
	extends Partial<Record<"minimum" | "maximum" | "exclusiveMinimum" | "minLength" | "maxLength", number>> {
	readonly type?: string;
	readonly description?: string;
	readonly default?: unknown;
	readonly enum?: readonly unknown[];
	readonly anyOf?: readonly FieldSchema[];
	readonly items?: FieldSchema;
	readonly properties?: Readonly<Record<string, FieldSchema>>;
	readonly additionalProperties?: FieldSchema | boolean;
}

function describeType(schema: FieldSchema): string {
	if (schema.anyOf !== undefined) return schema.anyOf.map(describeType).join(", or ");
	if (schema.enum !== undefined) return alternatives(schema.enum.map((value) => JSON.stringify(value)));
	if (schema.type === "integer") return `a whole number${range(schema)}`;
	if (schema.type === "number") return `a number${range(schema)}`;
	if (schema.type === "string") return `a text${length(schema)}`;
	if (schema.type === "array") return `a list of ${describeType(schema.items ?? {})}`;
	return { boolean: "true or false", object: "a table" }[schema.type ?? ""] ?? schema.type ?? "any value";
}

function range({ minimum, maximum, exclusiveMinimum }: FieldSchema): string {
	const bounds: string[] = [];
	if (exclusiveMinimum !== undefined) bounds.push(`above ${exclusiveMinimum}`);
	if (minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER) bounds.push(`at least ${minimum}`);
	if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) bounds.push(`at most ${maximum}`);
	return bounds.length === 0 ? "" : `, ${bounds.join(" and ")}`;
}

function length({ minLength = 0, maxLength }: FieldSchema): string {
	if (maxLength !== undefined) return ` of ${minLength} to ${maxLength} characters`;
	return minLength > 0 ? ` of at least ${minLength} character${minLength > 1 ? "s" : ""}` : "";
}
