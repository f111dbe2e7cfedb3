/** What a service of tests serves. */

/** The console, as it is built. */
export const theConsole = 'web/dist';

/** A page in its place, for suites that do not open the console: to read all of it takes a quarter of a start. */
export const aPage = 'test/support/page';
