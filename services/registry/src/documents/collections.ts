import { AgentId } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { z } from 'zod';

/** The stored layer of one agent, without the parts from files and environment. */
export const AgentDocument = z.object({
  agentId: AgentId,
  /** A part of the section `agents.<id>` that overrides the files. */
  patch: json(z.record(z.string(), z.unknown())),
  /** Incremented by every change, to detect concurrent writes. */
  version: z.int().positive(),
  suspended: z.boolean(),
  /** Set on a tombstone, so that an agent from a file stays deleted. */
  deletedAt: z.int().nullable(),
  createdAt: z.int(),
  updatedAt: z.int(),
});
export type AgentDocument = z.infer<typeof AgentDocument>;

/** One document for each agent that was created, changed, suspended or deleted by a method. */
export const agentCollection = collection({ name: 'agents', schema: AgentDocument, key: 'agentId' });

/**
 * One immutable version of the stored configuration. Its key is the hash of its content and its layer. It belongs to the chain if it
 * is the head or the parent of a version of the chain.
 */
export const ConfigVersionDocument = z.object({
  sha: z.string(),
  /** Makes the hashes of equal versions different. */
  nonce: z.string(),
  /** The number of the parent plus one. */
  number: z.int().nonnegative(),
  /** Unset for the first version. */
  parent: z.string().optional(),
  at: z.int(),
  author: z.string(),
  /** The agent that wrote on behalf of the author. */
  agent: z.string().optional(),
  message: z.string(),
  /** Set if only one section changed. */
  section: z.string().optional(),
  /** The version that a rollback restored. */
  restores: z.string().optional(),
  /** Why the previous version was rolled back automatically. */
  reason: z.string().optional(),
});
export type ConfigVersionDocument = z.infer<typeof ConfigVersionDocument>;

export const configVersionCollection = collection({
  name: 'configVersions',
  schema: ConfigVersionDocument,
  key: 'sha',
  indexes: [{ fields: ['number'] }],
});

/** The layer of a version, stored separately so that the history is read without the layers. */
export const ConfigLayerDocument = z.object({ sha: z.string(), layer: json(z.record(z.string(), z.unknown())) });
export type ConfigLayerDocument = z.infer<typeof ConfigLayerDocument>;

export const configLayerCollection = collection({ name: 'configLayers', schema: ConfigLayerDocument, key: 'sha' });

/** A model that has answered, with the provider address at that time. */
export const ValidatedDocument = z.object({ name: z.string(), baseUrl: z.string(), at: z.int() });
export type ValidatedDocument = z.infer<typeof ValidatedDocument>;

export const validatedCollection = collection({ name: 'validated', schema: ValidatedDocument, key: 'name' });

/** The single document that names the newest version. */
export const ConfigHeadDocument = z.object({ name: z.string(), sha: z.string(), number: z.int().nonnegative() });
export type ConfigHeadDocument = z.infer<typeof ConfigHeadDocument>;

export const configHeadCollection = collection({ name: 'configHeads', schema: ConfigHeadDocument, key: 'name' });
