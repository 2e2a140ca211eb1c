import { sections } from '@switchyard/contracts';
import type { NativeWire } from '@switchyard/testkit';
import type { Adapter } from '../model/adapter.ts';
import { adapterContract } from '../chat/adapter.contract.ts';
import { createProviderClients } from '../provider-clients.ts';
import { providerSettings } from '../providers/provider-settings.ts';
import { nativeRecordings } from './recordings.fixture.ts';

async function speaking(type: NativeWire, baseUrl: string): Promise<Adapter> {
  const { entries } = sections.providers.parse({ entries: { up: { type, baseUrl } } });
  const settings = providerSettings({ entries }, { env: {}, hosts: [] }).get('up');
  if (settings === undefined) throw new Error('no provider');
  return createProviderClients().adapter(settings, undefined);
}

for (const wire of ['anthropic', 'google'] as const)
  for (const isComplete of [false, true])
    adapterContract(`the wire of ${wire}${isComplete ? ', nobody reading along' : ''}`, {
      open: (url) => speaking(wire, url),
      whole: isComplete,
      recordings: nativeRecordings(wire),
    });
