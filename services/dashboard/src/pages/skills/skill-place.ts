/** Parameters that name the owner of a listed skill. */
export function getOwner(agentId: string, { shared = false }: { shared?: boolean | undefined }): { agentId?: string; scope?: 'shared' } {
  return getPlace(shared ? '' : agentId, shared);
}

/** Parameters that name the owner of a skill: an agent, where an empty id is the default one, or all agents. */
export function getPlace(agentId: string, isShared: boolean): { agentId?: string; scope?: 'shared' } {
  return { ...(agentId === '' ? {} : { agentId }), ...(isShared ? { scope: 'shared' } : {}) };
}
