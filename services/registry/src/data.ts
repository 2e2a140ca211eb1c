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
