import { defineContract } from '../definition/define.ts';
import { channelsMethods } from './channels.ts';
import { deliveryMethods } from './delivery.ts';
import { channelsEvents } from './events.ts';
import { messageMethods } from './message.ts';
import { notificationMethods } from './notification.ts';
import { channelsOperations } from './operations.ts';
import { platformMethods } from './platforms.ts';

export const channels = defineContract({
  service: 'channels',
  methods: { ...channelsMethods, ...platformMethods, ...messageMethods, ...notificationMethods, ...deliveryMethods },
  operations: channelsOperations,
  events: channelsEvents,
});
