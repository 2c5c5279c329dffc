/* Where the climbs of _em_table.h start: the steps of starts.py, which says why. */

#define POINTS 48
#define CUTS (2 * MOST_SCOUTED + 2 * K_LIMIT)

/* Both models from classes of the points: class k is x[line[k] .. line[k + 1] - 1]; no class is empty. As if each value
 * were of its class alone, one common variance gives a likelihood below that of the mixture: the least that the best has. */
static void scout_classes(Table *t, const int *line, int K) {
    const Points *from = starts_of(t);
    const double *x = from->x, centre = x[from->size / 2];
    double within = 0.0, least = 0.0;
    Mixture m;
    for (int k = 0; k < K; k++) {
        const int size = line[k + 1] - line[k];
        double first = 0.0, second = 0.0;
        for (int i = line[k]; i < line[k + 1]; i++) {
            first += x[i] - centre;
            second += (x[i] - centre) * (x[i] - centre);
        }
        const double mean = first / size;
        m.w[k] = (double)size / from->size;
        m.mu[k] = centre + mean;
        m.v[k] = fmax(second / size - mean * mean, 1e-6);
        within += m.w[k] * m.v[k];
        least += size * log(m.w[k]);
    }
    within = fmax(within, t->floor);
    least -= 0.5 * from->size * (LOG_2PI + 1.0 + log(within));
    if (from == t->on) t->bar = fmax(t->bar, bic_on(t, from, least, K, MODEL_E));
    for (int model = MODEL_E; model <= MODEL_V; model++) scout(t, &m, K, model);
}

static int ascends(const int *line, int K) {
    for (int k = 0; k < K; k++)
        if (line[k + 1] <= line[k]) return 0;
    return 1;
}

/* Classes cut at K + 1 quantiles (type 7); ties that leave fewer distinct ones ask for more, of which those that open
 * the narrowest intervals are dropped. Returns whether no class is empty. The points have at least K values. */
static int quantile_line(const double *x, int n, int K, int ties, int *line) {
    double cuts[CUTS];
    char dropped[CUTS];
    int count = 0;
    line[0] = 0;
    line[K] = n;
    for (int m = K; ties && count < K + 1; m++) {
        if (m > 2 * n + K) return 0; /* not of numbers: twice as many cuts as values lie at all of them and between */
        count = 0;
        for (int j = 0; j <= m; j++) {
            const int64_t place = (int64_t)j * (n - 1);
            const int low = (int)(place / m), high = low + 1 < n ? low + 1 : n - 1;
            const double share = (double)(place % m) / m;
            const int even = place % m == 0 || x[low] == x[high];
            const double cut = even ? x[low] : (1.0 - share) * x[low] + share * x[high];
            if (count && !(cut > cuts[count - 1])) continue;
            cuts[count++] = cut;
        }
    }
    memset(dropped, 0, (size_t)count);
    for (int drop = count - K - 1; drop > 0; drop--) {
        int narrowest = -1;
        for (int i = 0; i < count - 1; i++)
            if (!dropped[i] && (narrowest < 0 || cuts[i + 1] - cuts[i] < cuts[narrowest + 1] - cuts[narrowest]))
                narrowest = i;
        dropped[narrowest] = 1;
    }
    int at = -1; /* of the cuts that stay, the first and the last are the ends */
    for (int i = 0; i < count - 1; i++) {
        if (dropped[i]) continue;
        if (at++ < 0) continue;
        int first = 0;
        while (first < n && x[first] < cuts[i]) first++;
        line[at] = first;
    }
    for (int j = 1; !ties && j < K; j++) line[j] = (int)(((int64_t)j * (n - 1) + K - 1) / K);
    return ascends(line, K);
}

/* Where the last of the best K classes of the first j points begins (Fisher 1958), at [K][j]. */
typedef signed char Partitions[K_LIMIT + 1][POINTS + 1];

/* costs[i][j] is that of points i .. j - 1 as one class, of `least` points or more. */
static void partition(int m, int K_max, int least, double costs[POINTS + 1][POINTS + 1], Partitions last) {
    double best[POINTS + 1], total[POINTS + 1];
    memcpy(best, costs[0], sizeof best);
    for (int K = 2; K <= K_max; K++) {
        for (int j = 0; j <= m; j++) {
            int from = 0;
            total[j] = INFINITY;
            for (int i = (K - 1) * least; i <= j - least; i++) {
                const double cost = best[i] + costs[i][j];
                if (!(cost < total[j])) continue;
                total[j] = cost;
                from = i;
            }
            last[K][j] = (signed char)from;
        }
        memcpy(best, total, sizeof best);
        if (!isfinite(best[m])) last[K][m] = -1;
    }
}

/* Classes of the points, cut where the best ones of m quantiles are; returns whether no class is empty. */
static int partition_line(int n, int m, int K, Partitions last, int *line) {
    if (last[K][m] < 0) return 0;
    for (int k = K, at = m; k >= 0; k--) {
        line[k] = (int)(((int64_t)at * n + m - 1) / m);
        at = k >= 2 ? last[k][at] : 0;
    }
    return ascends(line, K);
}

/* For each K: classes cut at quantiles, those of k-means, and those of the largest classification likelihood (Symons
 * 1981), of two points or more. The highest climb of each model goes on before K + 1 has its turn; where scouts go side by
 * side, after all. */
static void scout_values(Table *t) {
    double points[POINTS] = {0.0}, first[POINTS + 1] = {0.0}, second[POINTS + 1] = {0.0};
    double means[POINTS + 1][POINTS + 1], likelihood[POINTS + 1][POINTS + 1];
    Partitions by_means, by_likelihood;
    const double *x = starts_of(t)->x;
    const int n = starts_of(t)->size, m = n < POINTS ? n : POINTS, K_max = t->K ? t->K : t->K_max;
    int values = 1, done = 1;
    condense(x, n, m, points);
    for (int i = 0; i < m; i++) {
        first[i + 1] = first[i] + points[i];
        second[i + 1] = second[i] + points[i] * points[i];
    }
    const double spacing = (points[3 * m / 4] - points[m / 4]) / (m / 2 > 1 ? m / 2 : 1);
    const double least = fmax(0.1 * spacing, 1e-4);
    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= m; j++) {
            const int size = j - i;
            means[i][j] = likelihood[i][j] = INFINITY;
            if (size < 1) continue;
            const double sum = first[j] - first[i];
            means[i][j] = fmax(second[j] - second[i] - sum * sum / size, 0.0);
            if (size >= 2)
                likelihood[i][j] = 0.5 * size * log((means[i][j] / size + least * least) / ((double)size * size));
        }
    partition(m, K_max, 1, means, by_means);
    partition(m, K_max, 2, likelihood, by_likelihood);
    for (int i = 1; i < n; i++) values += x[i] > x[i - 1];
    for (int K = t->K ? t->K : 2; K <= K_max; K++) {
        int line[3][K_LIMIT + 1];
        const int there[] = {K <= values && quantile_line(x, n, K, values < n, line[0]),
                             partition_line(n, m, K, by_means, line[1]),
                             partition_line(n, m, K, by_likelihood, line[2])};
        for (int i = 0; i < 3; i++) {
            int again = !there[i]; /* the same classes start the same climbs */
            for (int j = 0; j < i; j++) again |= there[j] && !memcmp(line[j], line[i], sizeof(int) * (size_t)(K + 1));
            if (!again) scout_classes(t, line[i], K);
        }
        if (t->K || (K < K_max && n <= FEW)) continue;
        climb_briefly(t);
        for (; done < K; done++)
            for (int model = MODEL_E; model <= MODEL_V; model++) follow(t, done + 1, model, 1, INFINITY);
    }
}

/* One more component: each of K in its turn split in two, and one wide one added. */
static void scout_splits(Table *t, const Mixture *old, int K, int model) {
    Mixture m;
    double mean = 0.0, spread = 0.0;
    for (int j = 0; j < K; j++) {
        const double sd = 0.8 * sqrt(old->v[j]);
        copy_mixture(K, old, &m);
        m.w[j] = m.w[K] = 0.5 * old->w[j];
        m.mu[j] = old->mu[j] - sd;
        m.mu[K] = old->mu[j] + sd;
        m.v[j] = m.v[K] = 0.36 * old->v[j];
        scout(t, &m, K + 1, model);
        mean += old->w[j] * old->mu[j];
    }
    copy_mixture(K, old, &m);
    for (int j = 0; j < K; j++) {
        spread += old->w[j] * (old->v[j] + (old->mu[j] - mean) * (old->mu[j] - mean));
        m.w[j] *= 0.85;
    }
    m.w[K] = 0.15;
    m.mu[K] = mean;
    m.v[K] = 4.0 * spread;
    scout(t, &m, K + 1, model);
}

static void scout_window(Table *t, const Mixture *old, int K, int model, int at, int size) {
    const int n = starts_of(t)->size;
    const double *x = starts_of(t)->x;
    if (size >= n || at < 0) return;
    const double low = x[at], high = x[at + size - 1], sd = fmax(0.3 * (high - low), 1e-4);
    Mixture m;
    copy_mixture(K, old, &m);
    for (int k = 0; k < K; k++) m.w[k] *= 1.0 - (double)size / n;
    m.w[K] = (double)size / n;
    m.mu[K] = 0.5 * (low + high);
    m.v[K] = sd * sd;
    scout(t, &m, K + 1, model);
}

/* One more component, of so many cells. */
static void scout_cells(Table *t, const Mixture *old, int K, int model, int at, int size) {
    const Cells *cells = &t->all.cells;
    double count = 0.0, first = 0.0, second = 0.0;
    if (size >= cells->size) return;
    for (int i = at; i < at + size; i++) {
        const double d = cells->x[i] - cells->x[at];
        count += cells->count[i];
        first += cells->count[i] * d;
        second += cells->count[i] * (d * d + cells->within[i]);
    }
    Mixture m;
    copy_mixture(K, old, &m);
    for (int k = 0; k < K; k++) m.w[k] *= 1.0 - count / t->n;
    m.w[K] = count / t->n;
    m.mu[K] = cells->x[at] + first / count;
    m.v[K] = fmax(second / count - first / count * (first / count), 1e-8);
    scout(t, &m, K + 1, model);
}

/* One more component: of the cells at the ends, and of those that hold most beyond what the K explain (by the likelihood
 * ratio of M. Kulldorff's scan statistic, Communications in Statistics 26, 1997). */
static void scout_crowds(Table *t, const Mixture *old, int K, int model) {
    const Cells *cells = &t->all.cells;
    const double *x = cells->x;
    const int n = cells->size;
    for (int size = 1; size <= 3; size += 2) {
        scout_cells(t, old, K, model, 0, size);
        scout_cells(t, old, K, model, n - size, size);
    }
    t->kernels->density(x, n, K, old, t->density);
    for (int i = 0; i < n; i++) t->density[i] *= t->n * 0.3989422804014327 * 0.5 * (x[i + 1 < n ? i + 1 : i] - x[i ? i - 1 : i]);
    for (int size = 2; size < n && size <= 128; size *= 4) {
        double most = 0.0, count = 0.0, explained = 0.0;
        int best = -1;
        for (int i = 0; i < n; i++) {
            count += cells->count[i] - (i < size ? 0.0 : cells->count[i - size]);
            explained += t->density[i] - (i < size ? 0.0 : t->density[i - size]);
            if (i < size - 1 || count <= explained) continue;
            const double gain = count * log(count / fmax(explained, 1e-9)) - count + explained;
            if (gain <= most) continue;
            most = gain;
            best = i - size + 1;
        }
        if (best >= 0) scout_cells(t, old, K, model, best, size);
    }
}

/* One more component: at the ends, and where the values crowd beyond what the K explain. */
static void scout_insertions(Table *t, const Mixture *old, int K, int model) {
    static const double SHARES[] = {0.0, 0.06, 0.12, 0.25};
    const int n = starts_of(t)->size;
    const double *x = starts_of(t)->x, *density = t->density;
    if (!t->all.single) {
        scout_crowds(t, old, K, model);
        return;
    }
    scout_window(t, old, K, model, 0, 2);
    scout_window(t, old, K, model, 0, 3);
    scout_window(t, old, K, model, n - 2, 2);
    scout_window(t, old, K, model, n - 3, 3);
    if (n <= 4) return;
    t->kernels->density(x, n, K, old, t->density);
    for (int s = 0, last = 0; s < 4; s++) {
        const int share = (int)nearbyint(SHARES[s] * n), size = share > 4 ? share : 4;
        if (size == last) continue;
        last = size;
        int at = 0;
        double least = INFINITY;
        for (int i = 0; i + size <= n; i++) {
            const double crowd = fmax(x[i + size - 1] - x[i], 1e-6) * density[i + size / 2];
            if (crowd < least) {
                least = crowd;
                at = i;
            }
        }
        scout_window(t, old, K, model, at, size);
    }
}

/* One component fewer: each two made one of their moments. */
static void scout_merges(Table *t, const Mixture *old, int K, int model) {
    for (int a = 0; a < K; a++)
        for (int b = a + 1; b < K; b++) {
            Mixture m;
            int to = 0;
            for (int k = 0; k < K; k++) {
                if (k == a || k == b) continue;
                m.w[to] = old->w[k];
                m.mu[to] = old->mu[k];
                m.v[to++] = old->v[k];
            }
            const double w = old->w[a] + old->w[b], mean = (old->w[a] * old->mu[a] + old->w[b] * old->mu[b]) / w;
            const double da = old->mu[a] - mean, db = old->mu[b] - mean;
            m.w[to] = w;
            m.mu[to] = mean;
            m.v[to] = (old->w[a] * (old->v[a] + da * da) + old->w[b] * (old->v[b] + db * db)) / w;
            scout(t, &m, K - 1, model);
        }
}
