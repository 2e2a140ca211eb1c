import { group } from '../../arguments/command-group.ts';
import { addJob, pauseJob, removeJob, resumeJob, runJob } from './cron-changes.ts';
import { drawDensity } from './cron-density.ts';
import { listJobs, listRuns, showNext } from './cron-views.ts';

export const cron = group({
  name: 'cron',
  about: 'Lists, adds, pauses and runs jobs, which send an agent a message on a schedule.',
  otherwise: 'list',
  verbs: {
    list: { about: 'lists jobs with their schedule and next run', flags: ['agent'], run: listJobs },
    add: {
      takes: '<name>',
      about: 'adds a job; exactly one of --cron, --every and --at says when it fires',
      flags: ['message', 'cron', 'every', 'at', 'tz', 'agent'],
      run: addJob,
    },
    next: { takes: '[name]', about: 'shows the next fires of a job, or of --cron', flags: ['cron', 'tz', 'count', 'agent'], run: showNext },
    density: { about: 'draws the fires of the next 24 hours by hour', flags: ['agent'], run: drawDensity },
    runs: { takes: '<name>', about: 'lists the runs of a job, newest first', flags: ['limit', 'agent'], run: listRuns },
    pause: { takes: '<name>', about: 'pauses a job until it is resumed', flags: ['reason', 'agent'], run: pauseJob },
    resume: { takes: '<name>', about: 'resumes a paused or suspended job', flags: ['agent'], run: resumeJob },
    run: { takes: '<name>', about: 'runs a job now, also a paused one', flags: ['agent'], run: runJob },
    remove: { takes: '<name>', about: 'deletes a job', flags: ['agent', 'yes'], run: removeJob },
  },
  flags: {
    agent: { value: 'id', about: 'agent id; needed if two agents have a job of this name', names: 'agents' },
    message: { value: 'text', about: 'add: the message to the agent' },
    cron: { value: 'expression', about: 'add, next: five fields, or six with seconds first' },
    every: { value: 'time', about: 'add: an interval such as 10s, 15m, 6h or 1d' },
    at: { value: 'when', about: 'add: one time, as a date and time of ISO 8601' },
    tz: { value: 'zone', about: 'add, next: time zone such as Europe/Oslo' },
    count: { value: 'n', about: 'next: number of fires, at most 50' },
    limit: { value: 'n', about: 'runs: maximum number of runs' },
    reason: { value: 'text', about: 'pause: shown until the job is resumed' },
    yes: { about: 'remove: skips the confirmation' },
  },
  examples: [
    'cron add tick --every 10m --message "What time is it?"',
    'cron add report --cron "0 22 * * *" --tz Europe/Oslo --message "Write the report of the day."',
    'cron runs report',
    'cron density',
  ],
});
