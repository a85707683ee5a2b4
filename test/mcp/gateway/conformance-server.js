// An MCP server with what the conformance suite of the protocol calls, for both eras, on standard input and output.
// The suite describes each of these tools, resources and prompts: `conformance list`, and the error where one is missing.
import { setTimeout as pause } from "node:timers/promises";
import {
	completable,
	createRequestStateCodec,
	fromJsonSchema,
	inputRequired,
	McpServer,
	ResourceTemplate,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

// What a PNG and a WAV begin with.
const image = Buffer.from("89504e470d0a1a0a", "hex").toString("base64");
const audio = Buffer.from("RIFF....WAVE").toString("base64");
// Each request of the newer era may be answered by another process, which has to take the states of the others.
const states = createRequestStateCodec({ key: process.env.STATE_KEY ?? "k".repeat(32), ttlSeconds: 600 });

const text = (said) => ({ type: "text", text: said });
const saying = (said) => ({ content: [text(said)] });
const resource = (uri, mimeType, said) => ({ type: "resource", resource: { uri, mimeType, text: said } });
const form = (properties, required) => ({ type: "object", properties, ...(required && { required }) });

serveStdio(({ era }) => {
	const capabilities = { tools: {}, resources: { subscribe: true }, prompts: {}, logging: {}, completions: {} };
	const server = new McpServer(
		{ name: "conformance-fixtures", version: "1.0.0" },
		{ capabilities, requestState: { verify: states.verify } },
	);
	const tool = (name, run, inputSchema = z.object({})) =>
		server.registerTool(name, { description: `Fixture ${name}`, inputSchema }, run);
	addPlainTools(tool);
	if (era === "legacy") addAskingTools(tool);
	else addRoundTools(tool, server);
	addResources(server);
	addPrompts(server);
	return server;
});

function addPlainTools(tool) {
	tool("test_simple_text", () => saying("This is a simple text response for testing."));
	tool("test_image_content", () => ({ content: [{ type: "image", data: image, mimeType: "image/png" }] }));
	tool("test_audio_content", () => ({ content: [{ type: "audio", data: audio, mimeType: "audio/wav" }] }));
	tool("test_embedded_resource", () => ({
		content: [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
	}));
	tool("test_multiple_content_types", () => ({
		content: [
			text("Multiple content types test:"),
			{ type: "image", data: image, mimeType: "image/png" },
			resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
		],
	}));
	tool("test_error_handling", () => {
		throw new Error("This tool intentionally returns an error for testing");
	});
	tool("test_tool_with_logging", async (_given, { mcpReq }) => {
		for (const said of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
			await mcpReq.log("info", said);
			await pause(50);
		}
		return saying("Logged.");
	});
	tool("test_tool_with_progress", async (_given, { mcpReq }) => {
		const progressToken = mcpReq._meta?.progressToken;
		for (const progress of [0, 50, 100]) {
			if (progressToken !== undefined)
				await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
			await pause(50);
		}
		return saying("Done.");
	});
	const address = { $anchor: "address", ...form({ street: { type: "string" }, city: { type: "string" } }) };
	const schema = {
		$schema: "https://json-schema.org/draft/2020-12/schema",
		type: "object",
		$defs: { address },
		properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
		allOf: [{ anyOf: [{ required: ["name"] }, { required: ["address"] }] }],
		if: { required: ["address"] },
		// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
		then: { required: ["name"] },
		else: { required: [] },
		additionalProperties: false,
	};
	tool("json_schema_2020_12_tool", () => saying("Checked."), fromJsonSchema(schema));
}

/** Tools that ask the client while it waits: until revision 2025-11-25. */
function addAskingTools(tool) {
	tool(
		"test_sampling",
		async ({ prompt }, { mcpReq }) => {
			const messages = [{ role: "user", content: text(prompt) }];
			const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 });
			return saying(`LLM response: ${content.text}`);
		},
		z.object({ prompt: z.string() }),
	);
	const elicit = async (mcpReq, message, requestedSchema) => {
		const { action, content } = await mcpReq.elicitInput({ message, requestedSchema });
		return saying(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`);
	};
	tool(
		"test_elicitation",
		({ message }, { mcpReq }) =>
			elicit(mcpReq, message, form({ username: { type: "string" }, email: { type: "string" } }, ["username"])),
		z.object({ message: z.string() }),
	);
	tool("test_elicitation_sep1034_defaults", (_given, { mcpReq }) =>
		elicit(
			mcpReq,
			"Check the values.",
			form({
				name: { type: "string", default: "John Doe" },
				age: { type: "integer", default: 30 },
				score: { type: "number", default: 95.5 },
				status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
				verified: { type: "boolean", default: true },
			}),
		),
	);
	const titled = ["First", "Second", "Third"].map((title, at) => ({
		const: `value${at + 1}`,
		title: `${title} Option`,
	}));
	const options = ["option1", "option2", "option3"];
	tool("test_elicitation_sep1330_enums", (_given, { mcpReq }) =>
		elicit(
			mcpReq,
			"Choose.",
			form({
				untitledSingle: { type: "string", enum: options },
				titledSingle: { type: "string", oneOf: titled },
				legacyEnum: {
					type: "string",
					enum: ["opt1", "opt2", "opt3"],
					enumNames: ["Option One", "Option Two", "Option Three"],
				},
				untitledMulti: { type: "array", items: { type: "string", enum: options } },
				titledMulti: { type: "array", items: { anyOf: titled } },
			}),
		),
	);
}

const askName = {
	method: "elicitation/create",
	params: {
		mode: "form",
		message: "What is your name?",
		requestedSchema: form({ name: { type: "string" } }, ["name"]),
	},
};
const askColour = {
	method: "elicitation/create",
	params: { mode: "form", message: "Which colour?", requestedSchema: form({ color: { type: "string" } }, ["color"]) },
};
const askConfirm = {
	method: "elicitation/create",
	params: { mode: "form", message: "Please confirm", requestedSchema: form({ ok: { type: "boolean" } }, ["ok"]) },
};
const askContext = {
	method: "elicitation/create",
	params: {
		mode: "form",
		message: "Which context?",
		requestedSchema: form({ context: { type: "string" } }, ["context"]),
	},
};
const askCapital = {
	method: "sampling/createMessage",
	params: { messages: [{ role: "user", content: text("What is the capital of France?") }], maxTokens: 100 },
};
const askRoots = { method: "roots/list", params: {} };

/** Whether each of these was answered by an object of its kind. */
const hasAll = (requests, given = {}) =>
	Object.keys(requests).every((name) => typeof given[name] === "object" && given[name] !== null);

/** Tools that end a call with their questions: since revision 2026-07-28. */
function addRoundTools(tool, server) {
	const once = (name, inputRequests, isStateful = false) =>
		tool(name, async (_given, context) => {
			const { inputResponses } = context.mcpReq;
			const state = context.mcpReq.requestState();
			if (hasAll(inputRequests, inputResponses) && (!isStateful || state !== undefined))
				return saying(`state-ok ${JSON.stringify(inputResponses)}`);
			const requestState = isStateful ? await states.mint({ round: 1 }, context) : undefined;
			return inputRequired({ inputRequests, ...(requestState && { requestState }) });
		});
	once("test_input_required_result_elicitation", { user_name: askName });
	once("test_input_required_result_sampling", { capital_question: askCapital });
	once("test_input_required_result_list_roots", { client_roots: askRoots });
	once("test_input_required_result_request_state", { confirm: askConfirm }, true);
	once("test_input_required_result_tampered_state", { confirm: askConfirm }, true);
	once(
		"test_input_required_result_multiple_inputs",
		{ user_name: askName, greeting: askCapital, client_roots: askRoots },
		true,
	);
	tool("test_input_required_result_multi_round", async (_given, context) => {
		const { round = 0 } = context.mcpReq.requestState() ?? {};
		if (round === 2) return saying("All rounds are done.");
		const inputRequests = round === 0 ? { step1: askName } : { step2: askColour };
		return inputRequired({ inputRequests, requestState: await states.mint({ round: round + 1 }, context) });
	});
	tool("test_input_required_result_capabilities", (_given, { mcpReq }) => {
		const can = mcpReq.envelope?.["io.modelcontextprotocol/clientCapabilities"] ?? {};
		const inputRequests = {
			...(can.elicitation && { user_name: askName }),
			...(can.sampling && { capital_question: askCapital }),
		};
		return inputRequired({ inputRequests });
	});
	server.registerPrompt("test_input_required_result_prompt", { description: "Fixture" }, ({ mcpReq }) => {
		if (!hasAll({ user_context: askContext }, mcpReq.inputResponses))
			return inputRequired({ inputRequests: { user_context: askContext } });
		return { messages: [{ role: "user", content: text(JSON.stringify(mcpReq.inputResponses)) }] };
	});
	tool("test_missing_capability", () => inputRequired({ inputRequests: { capital_question: askCapital } }));
	once("test_streaming_elicitation", { user_name: askName });
	tool("test_logging_tool", async (_given, { mcpReq }) => {
		await mcpReq.log("info", "A line of the log");
		return saying("Logged.");
	});
}

function addResources(server) {
	const add = (name, uri, mimeType, more) =>
		server.registerResource(name, uri, { mimeType }, () => ({ contents: [{ uri, mimeType, ...more }] }));
	add("static-text", "test://static-text", "text/plain", { text: "This is the content of the static text resource." });
	add("static-binary", "test://static-binary", "image/png", { blob: image });
	add("watched", "test://watched-resource", "text/plain", { text: "Watched." });
	const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
	server.registerResource("template", template, { mimeType: "application/json" }, ({ href: uri }, { id }) => ({
		contents: [
			{
				uri,
				mimeType: "application/json",
				text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
			},
		],
	}));
	for (const method of ["resources/subscribe", "resources/unsubscribe"])
		server.server.setRequestHandler(method, () => ({}));
}

function addPrompts(server) {
	const prompt = (name, contents, argsSchema) =>
		server.registerPrompt(name, { description: `Fixture ${name}`, ...(argsSchema && { argsSchema }) }, (given) => ({
			messages: contents(given).map((content) => ({ role: "user", content })),
		}));
	prompt("test_simple_prompt", () => [text("This is a simple prompt for testing.")]);
	const words = completable(z.string(), (value) => ["paris", "park", "party"].filter((word) => word.startsWith(value)));
	prompt(
		"test_prompt_with_arguments",
		({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
		z.object({ arg1: words, arg2: z.string() }),
	);
	prompt(
		"test_prompt_with_embedded_resource",
		({ resourceUri }) => [
			resource(resourceUri, "text/plain", "Embedded resource content for testing."),
			text("Please process it."),
		],
		z.object({ resourceUri: z.string() }),
	);
	prompt("test_prompt_with_image", () => [
		{ type: "image", data: image, mimeType: "image/png" },
		text("Please analyze the image above."),
	]);
}
