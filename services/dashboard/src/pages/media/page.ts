import type { Page } from '../page.ts';

export const page: Page = {
  path: '/media',
  title: 'Media',
  group: 'Configure',
  order: 95,
  needs: ['media.providers'],
  wants: ['media.test.link', 'media.test.stt', 'media.test.tts', 'media.test.vision'],
  load: async () => (await import('./Media.tsx')).Media,
};
