/* Starts programs and sees them end, where that is simple; execute.py has the same in Python. */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

typedef struct {
    const char *program, *signals, *folder;
    Py_ssize_t many;
    char **words, **variables;
    int streams[3];
} Start;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1000000000LL * time.tv_sec + time.tv_nsec;
}

static long long micros(struct timeval time) { return 1000000LL * time.tv_sec + time.tv_usec; }

static int childless(void) {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0;
}

/* The number of a process that begins with all signals blocked, as it has the runner's memory until then; 0 where it
   cannot. */
static pid_t begin(const Start *start) {
    volatile int failed = 0;
    volatile int lost = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = vfork();
    if (pid == 0) {
        struct sigaction usual = {.sa_handler = SIG_DFL};
        for (Py_ssize_t i = 0; i < start->many; i++) sigaction(start->signals[i], &usual, NULL);
        int good = setpgid(0, 0) == 0;
        for (int to = 0; to < 3; to++) {
            const int from = start->streams[to];
            good = good && (from == to ? fcntl(to, F_SETFD, 0) : dup2(from, to)) >= 0;
        }
        lost = *start->folder && chdir(start->folder) != 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (good && !lost) execve(start->program, start->words, start->variables);
        failed = errno;
        _exit(127);
    }
    if (pid < 0) failed = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0 && failed) waitpid(pid, NULL, 0);
    errno = failed;
    if (failed && lost)
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, start->folder);
    else if (failed)
        PyErr_SetFromErrno(PyExc_OSError);
    return failed ? 0 : pid;
}

/* Pointers to texts that each end with a zero; NULL where they are not so many. */
static char **pointers(const char *texts, Py_ssize_t size, Py_ssize_t many) {
    char **const to = malloc((size_t)(many + 1) * sizeof *to);
    Py_ssize_t count = 0;
    for (const char *at = texts; to && at < texts + size && count <= many; at += strlen(at) + 1) {
        if (count < many) to[count] = (char *)at;
        count++;
    }
    if (to && count == many) {
        to[many] = NULL;
        return to;
    }
    if (to)
        PyErr_SetString(PyExc_ValueError, "embedded null byte");
    else
        PyErr_NoMemory();
    free(to);
    return NULL;
}

/* Sleep for so many microseconds and no longer; the child that is started next gets the slack that there was. */
static void rest(int microseconds) {
    const struct timespec time = {.tv_nsec = 1000L * microseconds};
    const int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    PyThreadState *const thread = PyEval_SaveThread();
    nanosleep(&time, NULL);
    PyEval_RestoreThread(thread);
    prctl(PR_SET_TIMERSLACK, slack, 0, 0, 0);
}

static int parsed(Start *start, PyObject *program) {
    const char *words, *variables;
    Py_ssize_t words_size, words_many, variables_size, variables_many;
    start->words = start->variables = NULL;
    if (!PyArg_ParseTuple(program, "yy#ny#ny#y", &start->program, &words, &words_size, &words_many, &variables,
                          &variables_size, &variables_many, &start->signals, &start->many, &start->folder))
        return 0;
    start->words = pointers(words, words_size, words_many);
    if (start->words) start->variables = pointers(variables, variables_size, variables_many);
    return start->variables != NULL;
}

/* Start a program and wait for its end; whether that is all that there is to do about it. */
static PyObject *run(const Start *start, char *slot, int pause, int patience, int *plain) {
    if (!childless()) return PyTuple_New(0);
    if (pause > 0) rest(pause);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    const long long from = now();
    const pid_t pid = begin(start);
    if (!pid) return NULL;
    PyOS_snprintf(slot, 16, "%15d", pid);
    slot[15] = '\n';
    const int ended = (int)syscall(SYS_pidfd_open, pid, 0);
    long long to = 0;
    if (ended >= 0) {
        struct pollfd look = {.fd = ended, .events = POLLIN};
        PyThreadState *const thread = PyEval_SaveThread();
        if (poll(&look, 1, patience) == 1) to = now();
        PyEval_RestoreThread(thread);
        close(ended);
    }
    struct rusage usage, own;
    struct stat errors;
    int status;
    /* The slot and the adoption stay. */
    if (!to || wait4(pid, &status, 0, &usage) != pid) return Py_BuildValue("(iL)", (int)pid, from);
    memset(slot, ' ', 14);
    slot[14] = '0';
    const int alone = childless();
    if (alone) prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    getrusage(RUSAGE_SELF, &own);
    fstat(start->streams[2], &errors);
    *plain = alone && !status && !errors.st_size && (pause > 0 || usage.ru_nivcsw < 2);
    return Py_BuildValue("(LLiLLlllllliL)", from, to, status, micros(usage.ru_utime), micros(usage.ru_stime),
                         usage.ru_maxrss, usage.ru_minflt, usage.ru_majflt, usage.ru_nvcsw, usage.ru_nivcsw,
                         own.ru_maxrss, alone, (long long)errors.st_size);
}

static const char start_doc[] =
    "start(programs, stdin, stdout, stderr, slot, rest, patience, lasting, ends): start programs and wait for them, see "
    "execute.py.";

static PyObject *start(PyObject *self, PyObject *arguments) {
    Start start;
    PyObject *programs, *ends, *end = NULL;
    Py_buffer slot;
    int pause, patience, plain = 1;
    long long lasting;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "O!iiiw*iiLO!:start", &PyList_Type, &programs, &start.streams[0],
                          &start.streams[1], &start.streams[2], &slot, &pause, &patience, &lasting, &PyList_Type,
                          &ends))
        return NULL;
    const long long until = now() + lasting;
    if (slot.len < 16) PyErr_SetString(PyExc_ValueError, "sizes differ");
    for (Py_ssize_t i = 0; i < PyList_Size(programs) && plain && (!end || now() < until); i++) {
        if (end) PyList_Append(ends, end);
        Py_CLEAR(end);
        if (PyErr_Occurred() || PyErr_CheckSignals()) break;
        plain = 0;
        if (parsed(&start, PyList_GetItem(programs, i))) end = run(&start, slot.buf, pause, patience, &plain);
        free(start.words);
        free(start.variables);
    }
    PyBuffer_Release(&slot);
    return end;
}

static PyMethodDef methods[] = {{"start", start, METH_VARARGS, start_doc}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_start", "Kernel of execute.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__start(void) { return PyModuleDef_Init(&module); }
