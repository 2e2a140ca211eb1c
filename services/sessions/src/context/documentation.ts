import type { Sections } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';

type Documentation = Sections['documentation'];

/** Returns the prompt text about the product documentation; undefined if none is configured. */
export function createDocumentation(settings: Settings<'documentation'>): () => string | undefined {
  let from: Documentation | undefined;
  let text: string | undefined;
  return () => {
    const { documentation } = settings.current;
    if (from !== documentation) [from, text] = [documentation, getText(documentation)];
    return text;
  };
}

function getText({ enabled, customLinks, ...places }: Documentation): string | undefined {
  if (!enabled) return undefined;
  const texts: [string, string][] = [
    ['documentation on this machine', places.localDocsPath],
    ['documentation', places.publicDocsUrl],
    ['source', places.sourceUrl],
    ['community', places.communityUrl],
    ['skills', places.skillsMarketplaceUrl],
    ['MCP servers', places.mcpRegistryUrl],
    ...customLinks.map(({ label, url }): [string, string] => [label, url]),
  ];
  const known = texts
    .filter(([, place]) => place.trim() !== '')
    .map(([description, place]) => `- ${oneLine(description)}: ${oneLine(place)}`);
  return known.length === 0 ? undefined : `You are an agent of Switchyard. Its documentation:\n${known.join('\n')}`;
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ');
}
