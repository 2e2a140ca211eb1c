import { defineContract } from '../definition/define.ts';
import { audioMethods } from './audio.ts';
import { imageMethods } from './image.ts';
import { linkMethods } from './link.ts';
import { mediaMethods } from './media.ts';
import { mediaOperations } from './operations.ts';
import { ttsMethods } from './tts.ts';
import { mediaUsageEvents } from './usage-event.ts';

export const media = defineContract({
  service: 'media',
  methods: { ...audioMethods, ...mediaMethods, ...imageMethods, ...ttsMethods, ...linkMethods },
  operations: mediaOperations,
  events: mediaUsageEvents,
});
