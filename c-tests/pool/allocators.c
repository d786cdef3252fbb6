/* A preload beneath the shim that plays libmlx5: any device takes functions of the program that allocate its buffers. They are
 * never called. */
#include <errno.h>
#include <infiniband/mlx5dv.h>

int mlx5dv_set_context_attr(struct ibv_context *context, enum mlx5dv_set_ctx_attr_type type, void *attr)
{
    return context && attr && type == MLX5DV_CTX_ATTR_BUF_ALLOCATORS ? 0 : EOPNOTSUPP;
}
