import { itRequiresRecordings } from './required-suite.ts';

describe('shells that must be recorded', () => {
  let isAway = false;
  itRequiresRecordings({
    recordingsIn: (database) => ({
      ...database,
      keep: (step) => (isAway ? Promise.reject(new Error('the disk is full')) : database.keep(step)),
    }),
    async setAway(value) {
      isAway = value;
    },
  });
});
