# Digits of pi by Monte Carlo: pythran makes C++ of it, no interpreter is left.

# pythran export estimate(int, int)
def estimate(points, seed):
    state = seed | 1
    inside = 0
    for _ in range(points):
        state = (state * 1103515245 + 12345) & 0x7fffffff
        x = state / 2147483648.0
        state = (state * 1103515245 + 12345) & 0x7fffffff
        y = state / 2147483648.0
        if x * x + y * y < 1.0:
            inside += 1
    return 4.0 * inside / points
