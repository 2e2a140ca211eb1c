import { AgentId } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { z } from 'zod';

/** The stored layer of one agent. What files and environment say about it is not kept here. */
export const AgentDocument = z.object({
  agentId: AgentId,
  /** Keys of the section `agents.<id>`, in part; put over what the files say. */
  patch: json(z.record(z.string(), z.unknown())),
  /** Counts the changes, so that two at once do not undo each other. */
  version: z.int().positive(),
  suspended: z.boolean(),
  /** A tombstone: an agent named in a file stays deleted. */
  deletedAt: z.int().nullable(),
  createdAt: z.int(),
  updatedAt: z.int(),
});
export type AgentDocument = z.infer<typeof AgentDocument>;

/** One document per agent that was created, changed, suspended or deleted by a method. */
export const agentCollection = collection({ name: 'agents', schema: AgentDocument, key: 'agentId' });

/**
 * One version of the stored configuration. Never changed: its key is the hash of what it says and of its layer. It counts once the
 * head, or a version that counts, names it.
 */
export const ConfigVersionDocument = z.object({
  sha: z.string(),
  /** So that no two are called the same, whatever they say. */
  nonce: z.string(),
  /** One more than that of its parent. */
  number: z.int().nonnegative(),
  /** The version before; the first one has none. */
  parent: z.string().optional(),
  at: z.int(),
  author: z.string(),
  /** The agent that wrote it for its author. */
  agent: z.string().optional(),
  message: z.string(),
  /** Where it changed one section alone. */
  section: z.string().optional(),
  /** The version that this one equals, of a rollback. */
  restores: z.string().optional(),
  /** Why the version before was rolled back by itself. */
  reason: z.string().optional(),
});
export type ConfigVersionDocument = z.infer<typeof ConfigVersionDocument>;

export const configVersionCollection = collection({
  name: 'configVersions',
  schema: ConfigVersionDocument,
  key: 'sha',
  indexes: [{ fields: ['number'] }],
});

/** What a version says, whole; apart from it, so that a history is read without a megabyte for each line. */
export const ConfigLayerDocument = z.object({ sha: z.string(), layer: json(z.record(z.string(), z.unknown())) });
export type ConfigLayerDocument = z.infer<typeof ConfigLayerDocument>;

export const configLayerCollection = collection({ name: 'configLayers', schema: ConfigLayerDocument, key: 'sha' });

/** A model that has answered, at the address that its provider had then. */
export const ValidatedDocument = z.object({ name: z.string(), baseUrl: z.string(), at: z.int() });
export type ValidatedDocument = z.infer<typeof ValidatedDocument>;

export const validatedCollection = collection({ name: 'validated', schema: ValidatedDocument, key: 'name' });

/** The one document that says which version is the newest. */
export const ConfigHeadDocument = z.object({ name: z.string(), sha: z.string(), number: z.int().nonnegative() });
export type ConfigHeadDocument = z.infer<typeof ConfigHeadDocument>;

export const configHeadCollection = collection({ name: 'configHeads', schema: ConfigHeadDocument, key: 'name' });
