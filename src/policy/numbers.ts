import { z } from "zod";

/** A number of tokens. */
export const tokenNumber = z.int().min(0).max(1_000_000_000);

/** A number of messages from which something is done. */
export const messageNumber = z.int().min(1).max(1_000_000_000);

/** A number of characters (UTF-16 code units). */
export const characterNumber = z.int().min(0).max(1_000_000_000);
