import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";

// The least that a proxy in Node.js can do which has to see a whole request before it sends it on.
const [, , upstream = ""] = process.argv;
const server = createServer((request, response) => {
	const pieces: Buffer[] = [];
	request.on("data", (piece: Buffer) => pieces.push(piece));
	request.on("end", () => {
		const { method, headers } = request;
		const asked = sendRequest(upstream + request.url, { method, headers }, (answer) => {
			response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
			answer.pipe(response);
		});
		asked.on("error", () => response.destroy());
		asked.end(Buffer.concat(pieces));
	});
});
server.listen(0, "127.0.0.1", () => {
	process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
