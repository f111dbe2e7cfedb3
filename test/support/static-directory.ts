/** Static directories that the service serves in tests. */

/** The built console. */
export const theConsole = 'web/dist';

/** A page instead of the console, for suites that do not open it: reading all of the console takes a quarter of a start. */
export const aPage = 'test/support/page';
