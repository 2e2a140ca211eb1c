import type { Handler } from '@switchyard/bus';
import { MEDIA_USAGE } from '@switchyard/contracts';
import { listRecordedUsage, type UsageDocument } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';

/** Pages through the recorded usage of providers, oldest first. */
export function mediaUsageList(spent: Collection<UsageDocument>): Handler<'media.usage.list'> {
  return ({ since, cursor }) => listRecordedUsage(spent, { event: MEDIA_USAGE, since, cursor });
}
