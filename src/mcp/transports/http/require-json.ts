import type { RequestHandler } from "express";
import { refuse } from "./refuse.ts";

/** Refuses bodies that are not plain JSON before they are read. */
export const requireJson: RequestHandler = (request, response, next) => {
	const encoding = request.headers["content-encoding"] ?? "identity";
	if (request.is("application/json") && encoding === "identity") return next();
	refuse(response, { status: 415, message: "Expected Content-Type: application/json, without Content-Encoding." });
};
