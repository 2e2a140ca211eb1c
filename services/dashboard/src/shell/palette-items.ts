import type { OpenRpcDocument } from '@switchyard/contracts';
import { useQuery } from '@tanstack/react-query';
import { pages } from '../pages/pages.ts';
import { call } from '../session/client.ts';
import { useMay, useMethods } from '../session/presence.ts';

/** One result of the palette: a page with its state. */
export interface PaletteItem {
  label: string;
  path: string;
  search: Readonly<Record<string, string>>;
}

/** Everything that the palette finds: pages, agents, sessions, sections and keys of the configuration, and methods. Read while it is open. */
export function usePaletteItems(isOpen: boolean): readonly PaletteItem[] {
  const mayListAgents = useMay('agents.list');
  const mayListSessions = useMay('session.list');
  const mayReadSchema = useMay('config.schema');
  const agents = useQuery({
    queryKey: ['agents.list', {}],
    queryFn: ({ signal }) => call('agents.list', {}, signal),
    enabled: isOpen && mayListAgents,
  });
  const sessions = useQuery({
    queryKey: ['session.list', {}],
    queryFn: ({ signal }) => call('session.list', {}, signal),
    enabled: isOpen && mayListSessions,
  });
  const schemas = useQuery({
    queryKey: ['config.schema', {}],
    queryFn: ({ signal }) => call('config.schema', {}, signal),
    enabled: isOpen && mayReadSchema,
  });
  const { data: methods } = useMethods();
  if (!isOpen) return [];
  return [
    ...pages.map(({ title, path }) => ({ label: title, path, search: {} })),
    ...(agents.data?.agents ?? []).map((agent) => ({ label: `Agent ${agent}`, path: '/agents', search: { agent } })),
    ...(sessions.data?.sessions ?? []).map(({ sessionKey, label }) => ({
      label: `Session ${label ?? sessionKey}`,
      path: '/sessions',
      search: { session: sessionKey },
    })),
    ...listSettings(schemas.data?.schema ?? {}),
    ...listMethods(methods),
  ];
}

function listSettings(schemas: Readonly<Record<string, unknown>>): PaletteItem[] {
  return Object.entries(schemas).flatMap(([section, schema]) => {
    const { properties = {} } = schema as { properties?: object };
    return [section, ...Object.keys(properties).map((key) => `${section}.${key}`)].map((label) => ({
      label: `Setting ${label}`,
      path: '/configuration',
      search: { section },
    }));
  });
}

function listMethods(document: OpenRpcDocument | undefined): PaletteItem[] {
  return (document?.methods ?? []).map(({ name }) => ({ label: `Call ${name}`, path: '/api', search: { method: name } }));
}
